// Statements that are tried out, in one worker: on what was recorded here, and on what happens while somebody
// waits. Laws: nothing is stored and no action runs; whoever does not come back for what he asked for is
// forgotten.

import { capture } from './captured-event.ts';
import { Recorder } from './preview-recorder.ts';
import { Preview, type PreviewOrder, type PreviewRow } from './preview-run.ts';
import type { RecordingOrder } from './rule-order.ts';
import type { EventListener } from './rule-set.ts';

export interface PreviewWorkerParts {
  readonly nowMs: () => number;
  /** Answers how to have it not called. */
  readonly after: (ms: number, call: () => void) => () => void;
  readonly listen: (listener: EventListener) => () => void;
  /** One that is live has seen as much as was wanted. */
  readonly full: (id: number) => void;
}

interface Live {
  readonly rows: PreviewRow[];
  chars: number;
  leave(): void;
  /** Not forgotten: somebody has come. */
  come(): void;
}

/** What is collected for one. */
const charsMax = 1024 * 1024;
/** Clients wait while what was recorded is gone through. */
const msMax = 2000;
/** Behind its time: then nobody will ask any more. */
const graceMs = 15_000;

export class PreviewWorker {
  readonly #parts: PreviewWorkerParts;
  readonly #recorder: Recorder;
  readonly #live = new Map<number, Live>();

  constructor(parts: PreviewWorkerParts) {
    this.#parts = parts;
    const { nowMs, listen } = parts;
    this.#recorder = new Recorder({ nowMs, listen });
  }

  record(orders: readonly RecordingOrder[]): void {
    this.#recorder.apply(orders);
  }

  recorded(): ReturnType<Recorder['counts']> {
    return this.#recorder.counts();
  }

  /** The latest first. */
  ofRecorded(order: PreviewOrder): readonly PreviewRow[] {
    const preview = new Preview(order);
    const rows: PreviewRow[] = [];
    let chars = 0;
    const endsAtMs = this.#parts.nowMs() + msMax;
    for (const captured of this.#recorder.latest(preview.events)) {
      if (rows.length >= order.count || chars >= charsMax) break;
      if (this.#parts.nowMs() > endsAtMs) break;
      const row = preview.rowOf(captured);
      if (row === undefined) continue;
      rows.push(row);
      chars += row.json.length;
    }
    return rows;
  }

  start(id: number, order: PreviewOrder, ms: number): void {
    const { after, listen, full } = this.#parts;
    const preview = new Preview(order);
    const live: Live = {
      rows: [],
      chars: 0,
      leave: () => undefined,
      come: after(ms + graceMs, () => void this.end(id)),
    };
    this.#live.set(id, live);
    live.leave = listen({
      interests: preview.interests,
      onEvent: (event, topic, record) => {
        if (live.rows.length >= order.count || live.chars >= charsMax) return;
        const captured = capture(event, topic, record);
        const row = captured && preview.rowOf(captured);
        if (row === undefined) return;
        live.rows.push(row);
        live.chars += row.json.length;
        if (live.rows.length >= order.count || live.chars >= charsMax) full(id);
      },
    });
  }

  /** The earliest first. */
  end(id: number): readonly PreviewRow[] {
    const live = this.#live.get(id);
    if (live === undefined) return [];
    this.#live.delete(id);
    live.come();
    live.leave();
    return live.rows;
  }
}
