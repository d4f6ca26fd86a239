import assert from 'node:assert/strict';
import test from 'node:test';
import { ConfigError } from './config-error.ts';
import { loadSettings } from './load.ts';

test('watermarks are shares, and a large heap a size or a share', () => {
  const { monitor } = loadSettings({
    sets: ['os_mon.cpu_high_watermark=92.5%', 'sysmon.large_heap=8MB'],
  });
  assert.equal(monitor.cpuHighWatermark, 0.925);
  assert.equal(monitor.cpuLowWatermark, 0.6);
  assert.deepEqual(monitor.largeHeap, { bytes: 8 * 1024 * 1024 });
  assert.deepEqual(loadSettings({}).monitor.largeHeap, { share: 0.8 });
});

test('a watermark that is no share, and a lower one above the upper, are refused', () => {
  const refused = (...sets: string[]): string => {
    try {
      loadSettings({ sets });
    } catch (error) {
      assert.ok(error instanceof ConfigError);
      return error.message;
    }
    return 'accepted';
  };
  for (const value of ['0%', '101%', '80', '0.8', '']) {
    assert.match(refused(`os_mon.cpu_high_watermark=${value}`), /a share from 1% to 100%/, value);
  }
  assert.match(
    refused('os_mon.cpu_high_watermark=50%'),
    /os_mon\.cpu_low_watermark: it is above os_mon\.cpu_high_watermark/,
  );
  assert.match(refused('vm_mon.process_low_watermark=90%'), /it is above vm_mon\.process_high/);
  assert.match(refused('module.presence.qos=3'), /0, 1 or 2/);
  assert.match(refused('broker.sys_interval=5ms'), /from 100ms/);
});
