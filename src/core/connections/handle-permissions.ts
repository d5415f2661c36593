// The access room knows more than before: what waited for it goes on, what rests on older answers is looked at again.

import { assert } from '../../protocol/index.ts'
import type { BrokerState } from '../broker-state.ts'
import type { Input } from '../inputs.ts'

type PermissionInput = Extract<Input, { kind: 'permission-ready' | 'permissions-changed' }>

export function handlePermissions(state: BrokerState, input: PermissionInput): void {
  assert(!state.permissions.allowsEverything, `${input.kind}, though nothing is ever asked`)
}
