// Keys of the original platform that this broker does not have. A file that was brought along gets
// an answer that says so, instead of a bare "unknown key". In a pattern `*` is any one segment and
// `**` the rest of the key.

const runtime = 'it tunes the runtime of the original platform and has no meaning here';
const socket = 'socket buffers and reading are managed by the broker itself';
const later = (what: string): string => `it belongs to ${what}, which this version does not have`;

const foreignKeys: readonly (readonly [pattern: string, why: string])[] = [
  ['node.cookie', later('the cluster')],
  ['node.heartbeat', runtime],
  ['node.async_threads', runtime],
  ['node.process_limit', runtime],
  ['node.max_ports', runtime],
  ['node.dist_buffer_size', runtime],
  ['node.max_ets_tables', runtime],
  ['node.fullsweep_after', runtime],
  ['node.crash_dump', runtime],
  ['node.proto_dist', runtime],
  ['node.ssl_dist_optfile', runtime],
  ['node.dist_net_ticktime', runtime],
  ['node.dist_listen_min', runtime],
  ['node.dist_listen_max', runtime],
  ['node.global_gc_interval', runtime],
  ['rpc.**', later('the cluster')],
  ['cluster.**', later('the cluster')],
  ['log.primary_log_level', 'log.level is the level of all destinations'],
  ['zone.*.enable_stats', 'statistics of connections cost nothing here and are always kept'],
  ['zone.*.force_gc_policy', runtime],
  ['zone.*.force_shutdown_policy', 'max_mqueue_len and max_outbox_bytes bound a client here'],
  ['listener.*.*.active_n', socket],
  ['listener.*.*.recbuf', socket],
  ['listener.*.*.sndbuf', socket],
  ['listener.*.*.buffer', socket],
  ['listener.*.*.tune_buffer', socket],
  ['listener.*.*.reuseaddr', 'addresses are always reused'],
  ['listener.*.*.secure_renegotiate', 'TLS renegotiation by clients is always refused'],
  ['broker.enable_session_registry', later('the cluster')],
  ['broker.session_locking_strategy', later('the cluster')],
  ['broker.route_batch_clean', later('the cluster')],
  ['plugins.etc_dir', 'plugins have their files in the directory plugins beside the main file'],
  ['plugins.loaded_file', 'the list is the file loaded_plugins of node.data_dir'],
  ['plugins.expand_plugins_dir', 'plugins.dir names the directory of your own plugins'],
  ['bridge.**', later('bridges')],
  ['retainer.storage_type', later('a choice of storage for retained messages')],
  ['*.listener.*.recbuf', socket],
  ['*.listener.*.sndbuf', socket],
  ['*.listener.*.buffer', socket],
  ['*.listener.*.tune_buffer', socket],
  ['*.listener.*.nodelay', 'answers are always sent at once'],
  ['*.listener.*.inet6', 'the address of the listener says whether it is one of IPv6'],
  ['*.listener.*.ipv6_v6only', 'the address of the listener says whether it is one of IPv6'],
  ['*.listener.*.send_timeout_close', 'a client that does not read its answer always loses it'],
  ['*.listener.*.secure_renegotiate', 'TLS renegotiation by clients is always refused'],
  ['auth.**', later('this authentication plugin')],
  [
    'recon.gc_interval',
    'the runtime collects garbage by itself; one that is forced would stop a thread meanwhile',
  ],
  ['reloader.logfile', 'what the reloader does is in the log of the broker'],
  ['rule_engine.**', later('the rule engine')],
];

/** Why a key of the original platform is not a key here; undefined when it is not one of those. */
export function whyForeign(written: string): string | undefined {
  return foreignKeys.find(([pattern]) => matches(pattern, written))?.[1];
}

function matches(pattern: string, written: string): boolean {
  const wanted = pattern.split('.');
  const found = written.split('.');
  for (const [place, segment] of wanted.entries()) {
    if (segment === '**') return found.length > place;
    if (found[place] === undefined || (segment !== '*' && segment !== found[place])) return false;
  }
  return found.length === wanted.length;
}
