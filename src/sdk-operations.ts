// The second room behind the door of plugins (sdk.ts): what operations are declared with. Apart from it
// because schemas take long to load, and workers do not need them.

export { type TSchema, Type } from 'typebox';
export { systemClock } from '#base/clock';
export { serverSentEvent, serverSentPulse, Tail, type TailPiece } from '#base/tail';
export { jsonValue } from '#rules/json-value';
export { oneAndBatch } from '#admin/batch';
export { credentialOperations } from '#admin/credential-operations';
export { OperatingError } from '#admin/failures';
export { type AnyOperation, type Caller, define as defineOperation, Page } from '#admin/operation';
export { noParams, pagingParams, sliceOf } from '#admin/paging';
