// Who asks: HTTP Basic, with applications on the port of management and users on that of the dashboard.
// Law: nothing of what was sent is told again, and a wrong name and a wrong secret look alike.

import { OperatingError } from '#admin/failures';
import type { Services } from '#admin/services';

export type Owner = 'management' | 'dashboard';

interface Credentials {
  readonly name: string;
  readonly secret: string;
}

/** The name of who asks. Throws OperatingError `unauthorized` or `tooMany`. */
export async function authenticate(
  { apps, users }: Pick<Services, 'apps' | 'users'>,
  owner: Owner,
  header: string | undefined,
  address: string,
): Promise<string> {
  const found = readBasic(header);
  if (found === undefined) throw refused('credentials are required');
  const { name, secret } = found;
  const isKnown =
    owner === 'dashboard'
      ? await users.verify(name, secret, address)
      : await apps.verify(name, secret, address);
  if (!isKnown) throw refused('wrong credentials');
  return name;
}

function refused(why: string): OperatingError {
  return new OperatingError('unauthorized', `Unauthorized: ${why}`);
}

const credentialsCharsMax = 2048;

function readBasic(header: string | undefined): Credentials | undefined {
  if (header === undefined || header.length > credentialsCharsMax) return undefined;
  const coded = /^basic +([A-Za-z0-9+/_-]+={0,2}) *$/i.exec(header)?.[1];
  if (coded === undefined) return undefined;
  const text = Buffer.from(coded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  return colon < 1 ? undefined : { name: text.slice(0, colon), secret: text.slice(colon + 1) };
}
