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
const noDashboard: Need = ({ managed }) => managed.put('/plugins/broker_dashboard/unload');
/** What another example has put would need a restart. */
const noPending: Need = ({ managed }) =>
  managed.delete('/configs/broker_retainer?key=retainer.max_payload_size');
const aKick: Need = ({ managed }) => managed.delete('/connections/sensor-1');
const aSleeper: Need = (plant) => plant.sleeper('sensor-2');

const needs: Readonly<Record<string, Need>> = {
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
  unload_plugin: aDashboard,
  reload_plugin: noPending,
  list_listeners: aKick,
  list_node_listeners: aKick,
  list_traces: aTrace,
  start_trace: noTrace,
  stop_trace: aTrace,
  download_trace: aTrace,
  tail_trace: aTrace,
  clean_presisent_session: aSleeper,
  clean_node_presisent_session: aSleeper,
  list_banned: aBan,
};
