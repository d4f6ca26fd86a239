// What the control part of a plugin hands to its operations, where that takes long to load and clients do not
// need it: it is made when they are let in already and management is about to be.

export class Later<T> {
  readonly make: () => Promise<T>;

  constructor(make: () => Promise<T>) {
    this.make = make;
  }
}
