import assert from 'node:assert/strict';
import test, { after, before, describe } from 'node:test';
import type { QoS } from '#wire/packet';
import { BrokerProcess, onlyListeners } from './broker-process.ts';
import { type Outcome, Program, runToEnd, toolOf } from './outside-program.ts';

const pub = toolOf('mosquitto_pub');
const sub = toolOf('mosquitto_sub');
const skip = pub.skip || sub.skip;

const versions = ['mqttv31', 'mqttv311', 'mqttv5'] as const;
type Version = (typeof versions)[number];

let broker: BrokerProcess;

before(async () => {
  if (skip) return;
  // Without a limit for what waits: the test with many lines must lose none to a slow reader.
  const sets = [...onlyListeners('tcp', 'ssl'), 'zone.external.max_mqueue_len=0'];
  broker = await BrokerProcess.start(sets);
});
after(() => broker?.[Symbol.asyncDispose]());

for (const kind of ['tcp', 'ssl'] as const) {
  const where = (version: Version): string[] => [
    ...['-h', '127.0.0.1', '-p', String(broker.port(kind)), '-V', version],
    ...(kind === 'ssl' ? ['--cafile', broker.place.certFile] : []),
  ];

  describe(`mosquitto clients on ${kind}`, { skip }, () => {
    for (const version of versions) {
      for (const qos of [0, 1, 2] as const) {
        test(`${version} publishes and receives with QoS ${qos}`, async () => {
          const topic = `${kind}/${version}/${qos}`;
          await using subscriber = await subscribed(where(version), topic, qos, ['-C', '2']);
          await publish([...where(version), '-t', topic, '-q', String(qos), '-m', 'ünïcode']);
          await publish([...where(version), '-t', topic, '-q', String(qos), '-n']);
          const { code } = await subscriber.program.outcome();
          assert.equal(code, 0);
          assert.deepEqual(subscriber.received(), [
            `${topic} ${qos} 0 ünïcode`,
            `${topic} ${qos} 0 `,
          ]);
        });
      }

      test(`${version} keeps and clears a retained message`, async () => {
        const topic = `${kind}/${version}/retained`;
        await publish([...where(version), '-t', topic, '-q', '1', '-r', '-m', 'kept']);
        const kept = await runToEnd(sub.path, [
          ...where(version),
          '-t',
          topic,
          '-C',
          '1',
          ...format,
        ]);
        assert.equal(kept.out, `${topic} 0 1 kept\n`, kept.err);
        await publish([...where(version), '-t', topic, '-q', '1', '-r', '-n']);
        await using later = await subscribed(where(version), topic, 1, ['-C', '1']);
        await publish([...where(version), '-t', topic, '-q', '1', '-m', 'live']);
        await later.program.outcome();
        assert.deepEqual(later.received(), [`${topic} 1 0 live`]);
      });

      test(`${version} has its will published when it is killed`, async () => {
        const topic = `${kind}/${version}/will`;
        const will = ['--will-topic', topic, '--will-payload', 'gone', '--will-qos', '2'];
        await using witness = await subscribed(where(version), topic, 2, ['-C', '1']);
        await using dying = await subscribed(where(version), `${topic}/other`, 0, will);
        dying.program.signal('SIGKILL');
        const { code, err } = await witness.program.outcome();
        assert.equal(code, 0, err);
        assert.deepEqual(witness.received(), [`${topic} 2 0 gone`]);
      });

      test(`${version} gets what came while its session was away`, async () => {
        const topic = `${kind}/${version}/session`;
        const keep = ['-c', '-i', `keeper-${kind}-${version}`, '-t', topic, '-q', '1'];
        const expiry = version === 'mqttv5' ? ['-x', '60'] : [];
        const first = await runToEnd(sub.path, [...where(version), ...keep, ...expiry, '-E']);
        assert.equal(first.code, 0, first.err);
        for (const word of ['one', 'two']) {
          await publish([...where(version), '-t', topic, '-q', '1', '-m', word]);
        }
        const args = [...where(version), ...keep, ...expiry, '-C', '2', ...format];
        const again = await runToEnd(sub.path, args);
        assert.equal(again.out, `${topic} 1 0 one\n${topic} 1 0 two\n`, again.err);
      });

      test(`${version} shares a subscription`, async () => {
        const topic = `${kind}/${version}/share`;
        const shared = `$share/group/${topic}`;
        const stop = ['-t', `${topic}/stop`, '-q', '1'];
        await using one = await subscribed(where(version), shared, 1, stop);
        await using two = await subscribed(where(version), shared, 1, stop);
        const jobs = Array.from({ length: 30 }, (_, i) => `job ${i}`);
        const lines = jobs.map((job) => `${job}\n`).join('');
        await publish([...where(version), '-t', topic, '-q', '1', '-l'], lines);
        await publish([...where(version), '-t', `${topic}/stop`, '-q', '1', '-m', 'stop']);
        const last = `${topic}/stop 1 0 stop`;
        const shares = await Promise.all([one, two].map((member) => member.until(last)));
        const prefix = `${topic} 1 0 `.length;
        const done = shares.flat().map((line) => line.slice(prefix));
        assert.deepEqual(done.sort(), [...jobs].sort());
      });
    }

    test('10 000 lines arrive, all of them and in order', async () => {
      const topic = `${kind}/lines`;
      const lines = Array.from({ length: 10_000 }, (_, i) => `line ${i}`);
      await using subscriber = await subscribed(where('mqttv311'), topic, 1, ['-C', '10000']);
      const input = lines.map((line) => `${line}\n`).join('');
      await publish([...where('mqttv311'), '-t', topic, '-q', '1', '-l'], input);
      const { code } = await subscriber.program.outcome();
      assert.equal(code, 0);
      assert.deepEqual(
        subscriber.received(),
        lines.map((line) => `${topic} 1 0 ${line}`),
      );
    });
  });
}

test('mosquitto_sub refuses the certificate when it does not trust it', { skip }, async () => {
  await using other = await BrokerProcess.start(onlyListeners('ssl'));
  const where = ['-h', '127.0.0.1', '-p', String(broker.port('ssl'))];
  const { certFile } = other.place;
  const { code } = await runToEnd(sub.path, [...where, '--cafile', certFile, '-t', 't', '-E']);
  assert.notEqual(code, 0);
});

const format = ['-F', '%t %q %r %p'];
let readyCount = 0;

/** mosquitto_sub, which has told that it is subscribed by printing a retained message of its own. */
async function subscribed(
  where: readonly string[],
  filter: string,
  qos: QoS,
  more: readonly string[],
): Promise<Subscribed> {
  readyCount += 1;
  const marker = `ready/${readyCount}`;
  await publish([...where, '-t', marker, '-q', '1', '-r', '-m', 'ready']);
  const count = more.indexOf('-C');
  const rest = more.map((word, i) =>
    count >= 0 && i === count + 1 ? String(Number(word) + 1) : word,
  );
  const args = [...where, '-t', filter, '-t', marker, '-q', String(qos), ...rest, ...format];
  await using cleanup = new AsyncDisposableStack();
  const program = cleanup.use(new Program(sub.path, args));
  await program.lines.take('the marker', (line) => line.startsWith(`${marker} `));
  cleanup.move();
  return new Subscribed(program, marker);
}

class Subscribed implements AsyncDisposable {
  readonly program: Program;
  readonly #marker: string;

  constructor(program: Program, marker: string) {
    this.program = program;
    this.#marker = marker;
  }

  /** A line per message: topic, QoS, retain flag, payload. */
  received(): string[] {
    const lines = this.program.out.split('\n').slice(0, -1);
    return lines.filter((line) => !line.startsWith(`${this.#marker} `));
  }

  /** The lines before this one, which is waited for. */
  async until(last: string): Promise<string[]> {
    await this.program.lines.take(last, (line) => line === last);
    const lines = this.received();
    return lines.slice(0, lines.indexOf(last));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.program[Symbol.asyncDispose]();
  }
}

async function publish(args: readonly string[], input = ''): Promise<Outcome> {
  const outcome = await runToEnd(pub.path, args, { input });
  assert.equal(outcome.code, 0, outcome.err);
  return outcome;
}
