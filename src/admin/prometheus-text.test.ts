import assert from 'node:assert/strict';
import test from 'node:test';
import { readPrometheus } from './prometheus-fixture.ts';
import { type Family, prometheusText } from './prometheus-text.ts';

const family: Family = {
  name: 'broker_things_total',
  help: 'Things\nof a \\ kind',
  type: 'counter',
  samples: [
    { labels: { kind: 'a "b" \\ \n, c={d}' }, value: 1 },
    { labels: { kind: 'ü' }, value: 2 ** 53 },
  ],
};

test('the text format escapes help and labels', () => {
  const text = prometheusText([family]);
  assert.equal(
    text,
    [
      '# HELP broker_things_total Things\\nof a \\\\ kind',
      '# TYPE broker_things_total counter',
      'broker_things_total{kind="a \\"b\\" \\\\ \\n, c={d}"} 1',
      'broker_things_total{kind="ü"} 9007199254740992',
      '',
    ].join('\n'),
  );
  assert.equal(readPrometheus(text).get('broker_things_total')?.series.size, 2);
});

test('the text format leaves out a family without samples', () => {
  assert.equal(prometheusText([{ ...family, samples: [] }]), '');
});

test('the text format writes a histogram with rising buckets, sum and count', () => {
  const text = prometheusText(
    [],
    [
      {
        name: 'broker_delay_seconds',
        help: 'Delay.',
        buckets: [0.001, 0.01],
        counts: [5, 2, 1],
        sum: 0.75,
      },
    ],
  );
  const { type, series } = readPrometheus(text).get('broker_delay_seconds') ?? assert.fail();
  assert.equal(type, 'histogram');
  assert.deepEqual(Object.fromEntries(series), {
    'broker_delay_seconds_bucket{le="0.001"}': 5,
    'broker_delay_seconds_bucket{le="0.01"}': 7,
    'broker_delay_seconds_bucket{le="+Inf"}': 8,
    broker_delay_seconds_sum: 0.75,
    broker_delay_seconds_count: 8,
  });
});

test('the text format refuses a family, a sample or a name that nobody could read', () => {
  assert.throws(() => prometheusText([family, family]), /stands once/);
  const [sample] = family.samples;
  assert.ok(sample);
  assert.throws(() => prometheusText([{ ...family, samples: [sample, sample] }]), /stands once/);
  assert.throws(() => prometheusText([{ ...family, name: 'bytes/received' }]), /plain word/);
});

test('the reader of the tests refuses lines that are not of the format', () => {
  const good = '# HELP a_total x\n# TYPE a_total counter\na_total 1\n';
  assert.equal(readPrometheus(good).size, 1);
  const bad = [
    'a_total 1\n',
    good.slice(0, -1),
    good.replace('a_total 1', 'a_total one'),
    good.replace('a_total 1', 'b_total 1'),
    good.replace('a_total 1', 'a_total{x=1} 1'),
    good.replace('a_total 1', 'a_total{x="1",x="2"} 1'),
    good.replace('counter', 'gauge'),
    `${good}a_total 2\n`,
    good + good,
    good.replace('a_total 1\n', ''),
  ];
  for (const text of bad) assert.throws(() => readPrometheus(text), assert.AssertionError);
});
