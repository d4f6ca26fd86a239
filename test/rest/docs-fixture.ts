// The plant that the examples of docs/api.md speak of, as a real node with real clients, and what has to
// be there before some of the examples can be run.

import mqtt from 'mqtt';
import { type Managed, startManaged } from '#test/managed';

export class Plant implements AsyncDisposable {
  readonly managed: Managed;
  readonly #sensor: mqtt.MqttClient;

  static async start(): Promise<Plant> {
    const managed = await startManaged({
      settings: {
        allow_anonymous: 'true',
        acl_nomatch: 'allow',
        acl_file: 'etc/acl.conf',
        'dashboard.listener.http': '127.0.0.1:0',
        'zone.external.enable_ban': 'on',
      },
    });
    try {
      const sensor = await mqtt.connectAsync({
        ...address(managed),
        clientId: 'sensor-1',
        username: 'ann',
        reconnectPeriod: 10,
      });
      await sensor.subscribeAsync('plant/1/temperature', { qos: 1 });
      return new Plant(managed, sensor);
    } catch (error) {
      await managed[Symbol.asyncDispose]();
      throw error;
    }
  }

  private constructor(managed: Managed, sensor: mqtt.MqttClient) {
    this.managed = managed;
    this.#sensor = sensor;
  }

  /** What an example needs, by its operation; whatever the examples before it have done. */
  async prepare(name: string): Promise<void> {
    if (!this.#sensor.connected) await once(this.#sensor, 'connect');
    await needs[name]?.(this);
  }

  /** Something for a trace to see. */
  async publish(): Promise<void> {
    await this.#sensor.publishAsync('plant/1/temperature', '21.5', { qos: 1 });
  }

  async publishUntil(done: Promise<unknown>): Promise<void> {
    let isDone = false;
    const end = (): void => {
      isDone = true;
    };
    done.then(end, end);
    while (!isDone) await this.publish();
  }

  /** A session whose client is away. */
  async sleeper(clientId: string): Promise<void> {
    const properties = { sessionExpiryInterval: 3600 };
    const client = await mqtt.connectAsync({
      ...address(this.managed),
      clientId,
      clean: false,
      properties,
    });
    await client.endAsync();
  }

  async dashboard(method: string, path: string, body?: unknown): Promise<void> {
    const port = this.managed.portOf('dashboard');
    await this.managed.ask(method, path, body, { port, auth: 'admin:public' });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#sensor.endAsync(true);
    await this.managed[Symbol.asyncDispose]();
  }
}

function address({ mqttPort: port }: Managed): mqtt.IClientOptions {
  return { host: '127.0.0.1', port, protocolVersion: 5 };
}

function once(client: mqtt.MqttClient, event: 'connect'): Promise<unknown> {
  return new Promise((resolve) => client.once(event, resolve));
}

type Need = (plant: Plant) => Promise<unknown>;

const ben = { username: 'ben', password: 'Long-enough-1', tags: 'operator' };
const aUser: Need = async (plant) => {
  await plant.dashboard('DELETE', '/users/ben');
  await plant.dashboard('POST', '/users', ben);
};
const anApp: Need = async (plant) => {
  await plant.dashboard('POST', '/apps', { app_id: 'my-app', name: 'My application' });
};
const aBan: Need = ({ managed }) =>
  managed.post('/banned', { who: 'sensor-9', as: 'client_id', reason: 'loud', until: 4102444800 });
const anAlarm: Need = async ({ managed }) => {
  managed.node.alarms.raise('overload', { level: 'pause' });
};
const aPastAlarm: Need = async ({ managed }) => {
  managed.node.alarms.raise('store', {});
  managed.node.alarms.clear('store');
};
const aTrace: Need = async (plant) => {
  await plant.managed.post('/traces', { client_id: 'sensor-1', file: 'sensor-1.trace' });
  await plant.publish();
};
const noTrace: Need = ({ managed }) => managed.delete('/traces/sensor-1.trace');
const aDashboard: Need = ({ managed }) => managed.put('/plugins/broker_dashboard/reload');
/** It runs, and has seen somebody come. */
const theTemplate: Need = async ({ managed }) => {
  await managed.put('/plugins/broker_plugin_template/reload');
  const guest = await mqtt.connectAsync({ ...address(managed), clientId: 'guest' });
  await guest.endAsync();
};
const noDashboard: Need = ({ managed }) => managed.put('/plugins/broker_dashboard/unload');
/** What another example has put would need a restart. */
const noPending: Need = ({ managed }) =>
  managed.delete('/configs/broker_retainer?key=retainer.max_payload_size');
const aKick: Need = ({ managed }) => managed.delete('/connections/sensor-1');
const aRetained: Need = ({ managed }) =>
  managed.post('/mqtt/publish', {
    ...{ topic: 'plant/1/state', payload: 'on', qos: 1, retain: true, client_id: 'sensor-1' },
  });
const aPublish: Need = (plant) => plant.publish();
const aSleeper: Need = (plant) => plant.sleeper('sensor-2');

const aDelayed: Need = async ({ managed }) => {
  await managed.put('/plugins/broker_delayed_publish/load');
  const { body } = await managed.get('/delayed');
  if (body.meta?.count !== 0) return;
  await managed.post('/mqtt/publish', { topic: '$delayed/3600/plant/1/lights', payload: 'on' });
};

const engine = '/plugins/broker_rule_engine/load';
const aRule: Need = async ({ managed }) => {
  await managed.put(engine);
  const { body } = await managed.get('/rules/rule:1a2b3c4d');
  if (body.code === 0) return;
  await managed.post('/rules', {
    id: 'rule:1a2b3c4d',
    rawsql: 'SELECT client_id, payload FROM "plant/+/temperature" WHERE payload > 30',
    actions: [{ name: 'republish', params: { target_topic: 'hot/${client_id}' } }],
  });
};
const anEngine: Need = ({ managed }) => managed.put(engine);
const aResource: Need = async ({ managed }) => {
  await managed.put(engine);
  const config = { url: 'http://127.0.0.1:9910' };
  await managed.post('/resources', { type: 'web_hook', name: 'alerts', config });
  await managed.post('/resources', { type: 'built_in', name: 'debug' });
};
const aRecording: Need = async (plant) => {
  await plant.managed.put(engine);
  await plant.managed.put('/rules/preview/record', { filter: 'plant/#' });
  await plant.publish();
};

/** The plugin that has a table of names and passwords, and an entry there. */
const anEntry =
  (field: string, name: string): Need =>
  async ({ managed }) => {
    await managed.put(`/plugins/broker_auth_${field}/load`);
    await managed.post(`/auth_${field}`, { [field]: name, password: 'a-long-password' });
  };
const noEntry =
  (field: string, name: string): Need =>
  async ({ managed }) => {
    await managed.put(`/plugins/broker_auth_${field}/load`);
    await managed.delete(`/auth_${field}/${name}`);
  };
const aClientId = anEntry('clientid', 'sensor-7');
const aUsername = anEntry('username', 'ada');

const needs: Readonly<Record<string, Need>> = {
  list_clientid: aClientId,
  lookup_clientid: aClientId,
  add_clientid: noEntry('clientid', 'sensor-7'),
  update_clientid: aClientId,
  delete_clientid: aClientId,
  list_username: aUsername,
  lookup_username: aUsername,
  add_username: noEntry('username', 'ada'),
  update_username: aUsername,
  delete_username: aUsername,
  // Its hooks would stand in the answer.
  explain_publish: ({ managed }) => managed.put('/plugins/broker_delayed_publish/unload'),
  list_rules: aRule,
  show_rule: aRule,
  create_rule: anEngine,
  update_rule: aRule,
  delete_rule: aRule,
  reset_metrics: aRule,
  export_rules: aRule,
  import_rules: anEngine,
  inspect_rules: anEngine,
  inspect_rule: aRule,
  preview_rule: aRecording,
  record_for_preview: anEngine,
  forget_preview: aRecording,
  list_preview_records: aRecording,
  list_actions: anEngine,
  show_action: anEngine,
  list_events: anEngine,
  list_resource_types: anEngine,
  show_resource_type: anEngine,
  list_resources_by_type: aResource,
  list_actions_by_type: anEngine,
  list_resources: aResource,
  show_resource: aResource,
  create_resource: anEngine,
  update_resource: aResource,
  start_resource: aResource,
  delete_resource: aResource,
  get_resource_status: aResource,
  list_delayed_messages: aDelayed,
  delete_delayed_message: aDelayed,
  create_user: (plant) => plant.dashboard('DELETE', '/users/ben'),
  update_user: aUser,
  delete_user: aUser,
  change_pwd: aUser,
  add_app: (plant) => plant.dashboard('DELETE', '/apps/my-app'),
  list_apps: anApp,
  lookup_app: anApp,
  update_app: anApp,
  del_app: anApp,
  list_all_alarms: anAlarm,
  list_node_alarms: anAlarm,
  list_all_alarm_history: aPastAlarm,
  list_node_alarm_history: aPastAlarm,
  load_plugin: noDashboard,
  show_template: theTemplate,
  set_template_greeting: theTemplate,
  unload_plugin: aDashboard,
  reload_plugin: noPending,
  list_listeners: aKick,
  list_node_listeners: aKick,
  list_traces: aTrace,
  start_trace: noTrace,
  stop_trace: aTrace,
  download_trace: aTrace,
  tail_trace: aTrace,
  list_acl_cache: aPublish,
  clean_presisent_session: aSleeper,
  clean_node_presisent_session: aSleeper,
  list_banned: aBan,
  list_retained: aRetained,
  lookup_retained: aRetained,
  delete_retained: aRetained,
  clean_retained: aRetained,
};
