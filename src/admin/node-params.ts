// The parameter `node` of everything that can be asked of one node.

import { type TObject, type TString, Type } from 'typebox';

export const nodeName: TString = Type.String({
  minLength: 1,
  description: 'The node, `<name>@<host>`',
});

export const nodeParams: TObject<{ node: TString }> = Type.Object({ node: nodeName });
