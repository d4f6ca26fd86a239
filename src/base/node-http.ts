// HTTP of the runtime, for what is loaded before the node listens. To import `node:http` as a module reads
// all of its exports, and one of those, WebSocket, loads a whole client of the web with it: 50 ms of the
// start of every thread.

import type * as Http from 'node:http';

const http: typeof Http = process.getBuiltinModule('node:http');

export const createServer: typeof Http.createServer = http.createServer;
export const STATUS_CODES: typeof Http.STATUS_CODES = http.STATUS_CODES;
