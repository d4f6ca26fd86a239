// management.*: the REST API, who may use it, and its bounds.

import { httpKeys, httpsKeys, type HttpKeys, type HttpsKeys } from './http-keys.ts';
import { type KeysOf, key, optionalKey } from './key.ts';
import type { ManagementSettings } from './settings.ts';
import { byteSize, durationMs, int, matching } from './value-type.ts';

const secret = matching(/^\S{8,255}$/, 'from 8 to 255 characters without blanks');

export const managementKeys: KeysOf<
  Omit<ManagementSettings, 'listeners' | 'defaultAppId' | 'defaultAppSecret'>
> = {
  rowsMax: key('management.max_row_limit', int(1, 1_000_000), '10000', {
    shipped: '10000',
    text: 'Rows of a page of a list, where none are asked for, and the most that can be asked for.',
  }),
  bodyBytesMax: key('management.max_body_size', byteSize(1024, 64 * 1024 ** 2), '1MB', {
    shipped: '1MB',
    text: 'Largest body of a request, on the port of management and on that of the dashboard.',
  }),
  requestTimeoutMs: key('management.request_timeout', durationMs(100, 600_000), '15s', {
    shipped: '15s',
    text: 'A connection is closed when a request on it has begun and is not whole after this time.',
  }),
  defaultSecret: optionalKey('management.application.default_secret', secret, {
    sample: 'c4Xw9PqJ2mRz7TbN',
    text: 'The secret of an application that is added without one. Without this line each gets a random one.',
  }),
};

const appId = matching(/^[^\s:]{1,255}$/, 'a name without blanks and colons');

export const defaultAppKeys: KeysOf<Pick<ManagementSettings, 'defaultAppId' | 'defaultAppSecret'>> =
  {
    defaultAppId: key('management.default_application.id', appId, 'admin', {
      shipped: 'admin',
      text: 'The application that the first start makes.',
    }),
    defaultAppSecret: optionalKey('management.default_application.secret', secret, {
      sample: 'c4Xw9PqJ2mRz7TbN',
      text:
        'Its secret, set anew at every start. Without this line the first start makes one up, prints it ' +
        'once, and writes it to the file api-secret of the data directory.',
    }),
  };

export const managementHttp: HttpKeys = httpKeys('management.listener.http', {
  bind: '8080',
  acceptors: '2',
  backlog: '512',
  text:
    'Where the REST API is served: a port alone means all addresses, off nowhere. Nobody can use it ' +
    'who does not know the secret of an application.',
});

export const managementHttps: HttpsKeys = httpsKeys('management.listener.https', '8081');
