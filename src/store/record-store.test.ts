import { makeMemory } from './journal-fixture.ts';
import { openTemporary } from './lmdb/store-fixture.ts';
import { recordContract } from './record-contract.ts';

recordContract('memory', makeMemory);
recordContract('LMDB', openTemporary);
