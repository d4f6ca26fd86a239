import assert from 'node:assert/strict';
import test from 'node:test';
import type { ConfigError } from './config-error.ts';
import { loadSettings } from './load.ts';
import type { Settings } from './settings.ts';

const zone = 'zone.external';

function load(...sets: string[]): Settings {
  return loadSettings({ sets: ['listener.tcp.external=1883', ...sets] });
}

function problems(...sets: string[]): string[] {
  try {
    load(...sets);
  } catch (error) {
    return (error as ConfigError).problems.map(({ text }) => text);
  }
  return [];
}

test('flapping is not watched for when nothing is said, and has sane limits when it is', () => {
  const silent = load();
  assert.equal(silent.zones.get('external')?.enableFlappingDetect, false);
  assert.equal(silent.flapping.cleanIntervalMs, 3_600_000);
  const on = load(`${zone}.enable_ban=on`, `${zone}.enable_flapping_detect=on`);
  const { flappingThreshold, flappingBanSeconds } = on.zones.get('external') ?? {};
  assert.deepEqual(flappingThreshold, { count: 10, perMs: 60_000 });
  assert.equal(flappingBanSeconds, 3600);
});

test('flapping is read as the original platform has it written', () => {
  const { zones, flapping } = load(
    `${zone}.enable_ban=on`,
    `${zone}.enable_flapping_detect=on`,
    `${zone}.flapping_threshold=30, 2m`,
    `${zone}.flapping_banned_expiry_interval=5m`,
    'flapping_clean_interval=30s',
  );
  const { flappingThreshold, flappingBanSeconds } = zones.get('external') ?? {};
  assert.deepEqual(flappingThreshold, { count: 30, perMs: 120_000 });
  assert.equal(flappingBanSeconds, 300);
  assert.equal(flapping.cleanIntervalMs, 30_000);
});

test('flapping is refused in a zone where bans do not hold, once', () => {
  const text =
    'Cannot use zone.external.enable_flapping_detect: bans do not hold in this zone, expected zone.external.enable_ban = on';
  assert.deepEqual(problems(`${zone}.enable_flapping_detect=on`), [text]);
  assert.deepEqual(problems(`${zone}.enable_flapping_detect=on`, `${zone}.enable_ban=off`), [text]);
  const [only, ...more] = problems(`${zone}.enable_flapping_detect=on`, `${zone}.enable_ban=yes`);
  assert.match(only ?? '', /zone.external.enable_ban = "yes"/);
  assert.deepEqual(more, []);
});

test('limits of flapping that are none are refused', () => {
  for (const threshold of ['0,1m', '10', '10,0s', '-1,1m', '10,1m,1m']) {
    assert.equal(problems(`${zone}.flapping_threshold=${threshold}`).length, 1, threshold);
  }
  assert.equal(problems(`${zone}.flapping_banned_expiry_interval=0s`).length, 1);
  assert.equal(problems('flapping_clean_interval=1ms').length, 1);
});
