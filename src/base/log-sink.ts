// One place where log lines go: the console, a file. Never throws: a full disk must not stop the
// broker.

export interface LogSink extends AsyncDisposable {
  /** One line with its end. */
  write(line: string): void;
}
