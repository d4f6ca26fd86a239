import assert from 'node:assert/strict';
import test from 'node:test';
import { startManaged } from '#test/managed';

for (const workers of [0, 2]) {
  test(`a node with ${workers} workers is ready while all of them answer`, async () => {
    await using managed = await startManaged({ workers });
    const asked = async (path: string): Promise<string> => {
      const { status, text } = await managed.get(path, { auth: '' });
      return `${status} ${text}`;
    };
    assert.equal(await asked('@/readyz'), '200 ok');
    const face = managed.node.workers;
    const missing = [['worker 1', 'gone'] as const];
    Object.assign(face, { everywhere: async () => ({ answers: [], missing }) });
    assert.equal(await asked('@/readyz'), '503 not ready');
    assert.equal(await asked('@/livez'), '200 ok');
    assert.match(await asked('@/status'), /^503 Node .* is started\nbroker is not_running$/);
    Reflect.deleteProperty(face, 'everywhere');
    assert.equal(await asked('@/readyz'), '200 ok');
  });
}
