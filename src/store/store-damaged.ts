// The store holds something that no broker wrote there. Whoever opened it decides what becomes of it:
// the store is refused or set aside, never repaired by guessing.

export class StoreDamaged extends Error {
  override readonly name = 'StoreDamaged';
}
