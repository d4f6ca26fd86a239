// What a web server is told for one event: what stands beside the configuration of the resource.

export interface WebJob {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}
