// Values of the column `authz_source`.

import type { AccessControl } from '../../access/index.ts'

type Decision = NonNullable<ReturnType<AccessControl['explain']>>

const authorizationSources: Readonly<Record<Decision['because'], string>> = {
  superuser: 'superuser',
  namespace: 'namespace',
  token: 'jwt',
  'stored-rule': 'built_in_database',
  'global-rule': 'built_in_database',
  'configured-rule': 'file',
  'unusable-placeholder': 'file',
  bridge: 'bridge',
  service: 'http',
  plugin: 'plugin',
  'no-match': 'default',
}

/** `decision`: undefined if it was made by a service. */
export function findAuthorizationSource(decision: Decision | undefined): string {
  return authorizationSources[decision?.because ?? 'service']
}
