// The users of the dashboard: who they are and how they log in.

import { type TSchema, Type } from 'typebox';
import { OperatingError } from '../failures.ts';
import { type AnyOperation, define } from '../operation.ts';
import { noParams } from '../paging.ts';
import type { AdminParts } from '../parts.ts';
import type { Users } from '../users.ts';

const tag = 'Users';
const port = 'dashboard';

const password = (description: string) =>
  Type.Optional(Type.String({ maxLength: 255, description }));
const tags = Type.Optional(Type.String({ maxLength: 255, description: 'A remark' }));
const userRow: TSchema = Type.Object({ username: Type.String(), tags: Type.String() });
/** Basic credentials end the name at the first colon. */
const newName = Type.Optional(
  Type.String({ maxLength: 255, pattern: '^[^:\\s]*$', description: 'The name of the user' }),
);

export function userOperations({ services }: Pick<AdminParts, 'services'>): AnyOperation[] {
  const { users } = services;
  return [
    authUser(users),
    createUser(users),
    listUsers(users),
    updateUser(users),
    deleteUser(users),
    changePassword(users),
    setPassword(users),
  ];
}

/** As the tool has always written it. */
/** As the original has it where its words are those of the original. */
const failureTerm = ({ message }: OperatingError): string =>
  message.startsWith('Cannot ') ? `Error: ${message}` : `{error,<<"${message}">>}`;

function authUser(users: Users): AnyOperation {
  return define({
    name: 'auth_user',
    descr: 'Authenticate an user',
    tag,
    http: { method: 'POST', path: '/auth', port, isOpen: true },
    params: Type.Object({
      username: Type.Optional(Type.String({ maxLength: 255 })),
      password: password('The password of the user'),
    }),
    async run({ username = '', password: said = '' }, { address }) {
      if (username === '') throw new OperatingError('emptyCredentials', 'Username undefined');
      if (said === '') throw new OperatingError('emptyCredentials', 'Password undefined');
      if (await users.verify(username, said, address)) return;
      if (users.has(username)) throw new OperatingError('badCredentials', 'Password Error');
      throw new OperatingError('unknownUser', 'Username Not Found');
    },
  });
}

function createUser(users: Users): AnyOperation {
  return define({
    name: 'create_user',
    descr: 'Create an user',
    tag,
    http: { method: 'POST', path: '/users', indexPath: '/users/', port },
    cli: {
      words: 'admins add',
      args: ['username', 'password', 'tags?'],
      usage: '<Username> <Password> [<Tags>]',
      descr: 'Add dashboard user',
      print: () => 'ok',
      printFailure: ({ message }) => `Error: <<"${message}">>`,
    },
    params: Type.Object({ username: newName, password: password('Its password'), tags }),
    async run({ username = '', password: said = '', tags: remark = '' }) {
      if (username === '' || said === '') {
        throw new OperatingError('emptyCredentials', 'Username or password undefined');
      }
      await users.add({ username, tags: remark }, said);
    },
  });
}

function listUsers(users: Users): AnyOperation {
  return define({
    name: 'list_users',
    descr: 'List users',
    tag,
    http: { method: 'GET', path: '/users', indexPath: '/users/', port },
    params: noParams,
    result: Type.Array(userRow),
    run: () => users.list(),
  });
}

function updateUser(users: Users): AnyOperation {
  return define({
    name: 'update_user',
    descr: 'Update an user',
    tag,
    http: { method: 'PUT', path: '/users/:name', port },
    params: Type.Object({ name: Type.String({ description: 'The name of the user' }), tags }),
    run: ({ name, tags: remark = '' }) => users.setTags(name, remark),
  });
}

function deleteUser(users: Users): AnyOperation {
  return define({
    name: 'delete_user',
    descr: 'Delete an user',
    tag,
    http: { method: 'DELETE', path: '/users/:name', port },
    cli: {
      words: 'admins del',
      args: ['name'],
      usage: '<Username>',
      descr: 'Delete dashboard user',
      print: () => 'ok',
      printFailure: failureTerm,
    },
    params: Type.Object({ name: Type.String({ description: 'The name of the user' }) }),
    run: ({ name }) => users.remove(name),
  });
}

function changePassword(users: Users): AnyOperation {
  return define({
    name: 'change_pwd',
    descr: 'Change password for an user',
    tag,
    http: { method: 'PUT', path: '/change_pwd/:username', port },
    params: Type.Object({
      username: Type.String({ description: 'The name of the user' }),
      old_pwd: password('The password until now'),
      new_pwd: password('The password from now on'),
    }),
    async run({ username, old_pwd: old = '', new_pwd: next = '' }, { address }) {
      if (!users.has(username)) throw new OperatingError('unknownUser', 'Username Not Found');
      if (next === '') throw new OperatingError('emptyCredentials', 'Password undefined');
      if (!(await users.verify(username, old, address))) {
        throw new OperatingError('wrongOldPassword', 'Password Error');
      }
      await users.setPassword(username, next);
    },
  });
}

/** For whoever is on the machine, and may have forgotten the old one. */
function setPassword(users: Users): AnyOperation {
  return define({
    name: 'set_pwd',
    descr: 'Reset dashboard user password',
    tag,
    cli: {
      words: 'admins passwd',
      args: ['username', 'password'],
      usage: '<Username> <Password>',
      print: () => 'ok',
      printFailure: failureTerm,
    },
    params: Type.Object({
      username: Type.String(),
      password: Type.String({ minLength: 1, maxLength: 255 }),
    }),
    run: ({ username, password: next }) => users.setPassword(username, next),
  });
}
