// The service index, row by row as clients of the interface know it: name, method, path and description.
// What belongs to plugins that are not there yet is not listed, and what is ours alone is named here.

import assert from 'node:assert/strict';
import test from 'node:test';
import { startManaged } from '#test/managed';

/** The two texts of lookups by username are swapped in the original: here each says what it does. */
const known = [
  'list_all_alarms GET /alarms/ List all alarms',
  'list_all_alarms GET /alarms/present List all alarms',
  'list_node_alarms GET /alarms/:node List alarms of a node',
  'list_node_alarms GET /alarms/present/:node List alarms of a node',
  'list_all_alarm_history GET /alarms/history List all alarm history',
  'list_node_alarm_history GET /alarms/history/:node List alarm history of a node',
  'list_banned GET /banned/ List banned',
  'create_banned POST /banned/ Create banned',
  'delete_banned DELETE /banned/:who Delete banned',
  'list_brokers GET /brokers/ A list of brokers in the cluster',
  'get_broker GET /brokers/:node Get broker info of a node',
  'get_all_configs GET /configs/ Get all configs',
  'get_all_configs GET /nodes/:node/configs/ Get all configs of a node',
  'update_config PUT /configs/:app Update config of an application in the cluster',
  'update_node_config PUT /nodes/:node/configs/:app Update config of an application on a node',
  'get_plugin_configs GET /nodes/:node/plugin_configs/:plugin Get configurations of a plugin on the node',
  'update_plugin_configs PUT /nodes/:node/plugin_configs/:plugin Update configurations of a plugin on the node',
  'list_connections GET /connections/ A list of connections in the cluster',
  'list_node_connections GET nodes/:node/connections/ A list of connections on a node',
  'lookup_node_connections GET nodes/:node/connections/:clientid Lookup a connection on node',
  'lookup_connections GET /connections/:clientid Lookup a connection in the cluster',
  'lookup_node_connection_via_username GET /nodes/:node/connection/username/:username Lookup a connection via username on a node',
  'lookup_connection_via_username GET /connection/username/:username Lookup a connection via username in the cluster',
  'kickout_connection DELETE /connections/:clientid Kick out a connection',
  'list_listeners GET /listeners/ A list of listeners in the cluster',
  'list_node_listeners GET /nodes/:node/listeners A list of listeners on the node',
  'list_all_metrics GET /metrics/ A list of metrics of all nodes in the cluster',
  'list_node_metrics GET /nodes/:node/metrics/ A list of metrics of a node',
  'list_nodes GET /nodes/ A list of nodes in the cluster',
  'get_node GET /nodes/:node Lookup a node in the cluster',
  'list_all_plugins GET /plugins/ List all plugins in the cluster',
  'list_node_plugins GET /nodes/:node/plugins/ List all plugins on a node',
  'load_plugin PUT /nodes/:node/plugins/:plugin/load Load a plugin',
  'unload_plugin PUT /nodes/:node/plugins/:plugin/unload Unload a plugin',
  'reload_plugin PUT /nodes/:node/plugins/:plugin/reload Reload a plugin',
  'unload_plugin PUT /plugins/:plugin/unload Unload a plugin in the cluster',
  'reload_plugin PUT /plugins/:plugin/reload Reload a plugin in the cluster',
  'mqtt_subscribe POST /mqtt/subscribe Subscribe a topic',
  'mqtt_publish POST /mqtt/publish Publish a MQTT message',
  'mqtt_unsubscribe POST /mqtt/unsubscribe Unsubscribe a topic',
  'mqtt_subscribe_batch POST /mqtt/subscribe_batch Batch subscribes topics',
  'mqtt_publish_batch POST /mqtt/publish_batch Batch publish MQTT messages',
  'mqtt_unsubscribe_batch POST /mqtt/unsubscribe_batch Batch unsubscribes topics',
  'list_routes GET /routes/ List routes',
  'lookup_routes GET /routes/:topic Lookup routes to a topic',
  'create_rule POST /rules/ Create a rule',
  'list_rules GET /rules/ A list of all rules',
  'show_rule GET /rules/:id Show a rule',
  'delete_rule DELETE /rules/:id Delete a rule',
  'list_actions GET /actions/ A list of all actions',
  'show_action GET /actions/:name Show an action',
  'list_resources GET /resources/ A list of all resources',
  'create_resource POST /resources/ Create a resource',
  'show_resource GET /resources/:id Show a resource',
  'get_resource_status GET /resource_status/:id Get status of a resource',
  'start_resource POST /resources/:id Start a resource',
  'delete_resource DELETE /resources/:id Delete a resource',
  'list_resource_types GET /resource_types/ List all resource types',
  'show_resource_type GET /resource_types/:name Show a resource type',
  'list_resources_by_type GET /resource_types/:type/resources List all resources of a resource type',
  'list_actions_by_type GET /resource_types/:type/actions List all actions of a resource type',
  'list_events GET /rule_events/ List all events with detailed info',
  'list_sessions GET /sessions/ A list of sessions in the cluster',
  'list_node_sessions GET nodes/:node/sessions/ A list of sessions on a node',
  'lookup_session GET /sessions/:clientid Lookup a session in the cluster',
  'lookup_node_session GET nodes/:node/sessions/:clientid Lookup a session on the node',
  'clean_presisent_session DELETE /sessions/persistent/:clientid Clean a persistent session in the cluster',
  'clean_node_presisent_session DELETE nodes/:node/sessions/persistent/:clientid Clean a persistent session on the node',
  'list_stats GET /stats/ A list of stats of all nodes in the cluster',
  'lookup_node_stats GET /nodes/:node/stats/ A list of stats of a node',
  'list_subscriptions GET /subscriptions/ A list of subscriptions in the cluster',
  'list_node_subscriptions GET /nodes/:node/subscriptions/ A list of subscriptions on a node',
  'lookup_client_subscriptions GET /subscriptions/:clientid A list of subscriptions of a client',
  'lookup_client_subscriptions_with_node GET /nodes/:node/subscriptions/:clientid A list of subscriptions of a client on the node',
];

const dashboardOnly = [
  'auth_user POST /auth Authenticate an user',
  'create_user POST /users/ Create an user',
  'list_users GET /users/ List users',
  'update_user PUT /users/:name Update an user',
  'delete_user DELETE /users/:name Delete an user',
  'change_pwd PUT /change_pwd/:username Change password for an user',
  'add_app POST /apps/ Add Application',
  'del_app DELETE /apps/:appid Delete Application',
  'list_apps GET /apps/ List Applications',
  'lookup_app GET /apps/:appid Lookup Application',
  'update_app PUT /apps/:appid Update Application',
];

/** `name method path`: not of the interface. */
const ours = [
  'delete_config DELETE /configs/:app',
  'load_plugin PUT /plugins/:plugin/load',
  'list_traces GET /traces',
  'start_trace POST /traces',
  'stop_trace DELETE /traces/:name',
  'download_trace GET /traces/:name/download',
  'tail_trace GET /traces/:name/tail',
  'reload_acl PUT /acl/reload',
  'check_acl GET /acl/check',
  'diff_acl POST /acl/diff',
  'list_acl_cache GET /connections/:clientid/acl_cache',
  'clean_acl_cache DELETE /connections/:clientid/acl_cache',
  'clean_all_acl_cache DELETE /acl_cache',
  'explain_publish POST /explain/publish',
  'explain_subscribe POST /explain/subscribe',
  'list_retained GET /retained',
  'lookup_retained GET /retained/:topic',
  'delete_retained DELETE /retained/:topic',
  'clean_retained DELETE /retained',
  'update_rule PUT /rules/:id',
  'reset_metrics PUT /rules/:id/reset_metrics',
  'export_rules GET /rules/export',
  'import_rules POST /rules/import',
  'inspect_rules GET /rules/inspect',
  'inspect_rule GET /rules/:id/inspect',
  'preview_rule POST /rules/preview',
  'record_for_preview PUT /rules/preview/record',
  'forget_preview DELETE /rules/preview/record',
  'list_preview_records GET /rules/preview/record',
  'update_resource PUT /resources/:id',
  'openapi GET /openapi.json',
  'api_docs GET /docs',
];

interface Entry {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly descr: string;
}

const routeOf = ({ name, method, path }: Entry): string => `${name} ${method} ${path}`;
const lineOf = (entry: Entry): string => `${routeOf(entry)} ${entry.descr}`;

test('the service index has every row of the interface, and besides only what is ours', async () => {
  await using managed = await startManaged({
    settings: { 'dashboard.listener.http': '127.0.0.1:0' },
  });
  const dashboard = { port: managed.portOf('dashboard'), auth: 'admin:public' };
  for (const [options, wanted] of [
    [{}, known],
    [dashboard, [...known, ...dashboardOnly]],
  ] as const) {
    const { body } = await managed.get('/', options);
    const entries = body.data as Entry[];
    const foreign = entries.filter((entry) => ours.includes(routeOf(entry)));
    assert.deepEqual(foreign.map(routeOf).sort(), [...ours].sort());
    const rest = entries.filter((entry) => !foreign.includes(entry));
    assert.deepEqual(rest.map(lineOf).sort(), [...wanted].sort());
    for (const entry of entries) {
      assert.deepEqual(Object.keys(entry), ['name', 'method', 'path', 'descr']);
    }
  }
});

test('every row of the index that is a GET answers where it says', async () => {
  await using managed = await startManaged();
  const { body } = await managed.get('/');
  const values: Readonly<Record<string, string>> = {
    node: 'broker@127.0.0.1',
    plugin: 'broker_retainer',
  };
  const gets = (body.data as Entry[]).filter(({ method, path }) => {
    const isOfOne = /^\/(traces|retained|rules|actions|resource\w*)\/./.test(path);
    return method === 'GET' && !isOfOne && !/docs|openapi|acl/.test(path);
  });
  assert.ok(gets.length > 30);
  for (const { path } of gets) {
    const filled = path.replaceAll(/:(\w+)/g, (_, name: string) => values[name] ?? 'nobody');
    const bare = filled.replaceAll(/^\/|\/$/g, '');
    for (const form of [`/${bare}`, `/${bare}/`, `//${bare.replaceAll('/', '//')}`]) {
      const { status, body: found } = await managed.get(form);
      assert.deepEqual(
        [status, found.code, Array.isArray(found.data ?? [])],
        [200, 0, isList(path)],
        form,
      );
    }
  }
});

/** One node, or its counters: an object. All else is a list. */
function isList(path: string): boolean {
  return !/^\/(brokers|nodes)\/:node(\/metrics\/|\/stats\/)?$/.test(path);
}

test('what belongs to plugins that are not there is not found', async () => {
  await using managed = await startManaged({
    settings: { 'plugins.loaded': 'broker_management' },
  });
  for (const path of ['auth_clientid', 'auth_username', 'rules', 'actions', 'resources']) {
    const { status, body } = await managed.get(`/${path}/`);
    assert.deepEqual([status, body], [404, { code: 404, message: 'Not Found' }], path);
  }
});
