import { engineContract } from './engine-contract.ts';
import { MemoryEngine } from './memory-engine.ts';

engineContract('MemoryEngine', () => {
  const engine = new MemoryEngine();
  return { engine, [Symbol.asyncDispose]: () => engine.close() };
});
