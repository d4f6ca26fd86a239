// The room behind the door of plugins (sdk.ts) for those that tell web servers: requests over connections
// that are kept. `loadHttp` of #sdk opens it.

export { HttpSender } from '#rules/resources/http-sender';
export { JobFault } from '#rules/resources/resource-type';
