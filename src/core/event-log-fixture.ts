// A log that a test can look into.

import type { Logger } from '#base/log';

export interface LoggedEvent {
  readonly level: string;
  readonly event: string;
  readonly [field: string]: unknown;
}

export class EventLog implements Logger {
  readonly events: LoggedEvent[] = [];

  get names(): string[] {
    return this.events.map(({ event }) => event);
  }

  error(event: string, fields?: object): void {
    this.events.push({ level: 'error', event, ...fields });
  }
  warn(event: string, fields?: object): void {
    this.events.push({ level: 'warn', event, ...fields });
  }
  info(event: string, fields?: object): void {
    this.events.push({ level: 'info', event, ...fields });
  }
  debug(): void {}
  trace(): void {}
  child(): Logger {
    return this;
  }
  isEnabled(): boolean {
    return true;
  }
}
