// dashboard.*: the port for people, and the user that it begins with.

import { httpKeys, httpsKeys, type HttpKeys, type HttpsKeys } from './http-keys.ts';
import { type KeysOf, key } from './key.ts';
import type { DashboardSettings } from './settings.ts';
import { matching } from './value-type.ts';

/** Everybody who can read knows it: whoever has it is warned. */
export const shippedPassword = 'public';

export const dashboardKeys: KeysOf<Omit<DashboardSettings, 'listeners'>> = {
  defaultLogin: key(
    'dashboard.default_user.login',
    matching(/^[^\s:]{1,255}$/, 'a name without blanks and colons'),
    'admin',
    { shipped: 'admin', text: 'The user that is made at the first start. It cannot be deleted.' },
  ),
  defaultPassword: key(
    'dashboard.default_user.password',
    matching(/^.{1,255}$/, 'from 1 to 255 characters'),
    shippedPassword,
    {
      shipped: shippedPassword,
      text:
        'The password that this user is made with; change it afterwards with "broker_ctl admins ' +
        'passwd". As long as it is the shipped one, the dashboard is served to this machine only, unless ' +
        'the listener names an address.',
    },
  ),
};

export const dashboardHttp: HttpKeys = httpKeys('dashboard.listener.http', {
  bind: '18083',
  acceptors: '4',
  backlog: '512',
  text:
    'Where the dashboard, and the REST API for its users, are served: a port alone means all addresses ' +
    'once the shipped password is changed, off nowhere.',
});

export const dashboardHttps: HttpsKeys = httpsKeys('dashboard.listener.https', '18084');
