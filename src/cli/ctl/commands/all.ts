// Every command of `godwit ctl`. A new set adds its line here.

import type { CtlCommand } from '../ctl-command.ts'
import { accountCommands } from './account-commands.ts'
import { alarmCommands } from './alarm-commands.ts'
import { anyCommands } from './any-command.ts'
import { auditCommands } from './audit-command.ts'
import { bridgeCommands } from './bridge-commands.ts'
import { brokerCommands } from './broker-commands.ts'
import { clientCommands } from './client-commands.ts'
import { configurationCommands } from './configuration-commands.ts'
import { credentialCommands } from './credential-commands.ts'
import { dataCommands } from './data-commands.ts'
import { delayedCommands } from './delayed-commands.ts'
import { diagnosticsCommands } from './diagnostics-commands.ts'
import { gatewayCommands } from './gateway-commands.ts'
import { gatewayUserCommands } from './gateway-user-commands.ts'
import { listenerCommands } from './listener-commands.ts'
import { namespaceCommands } from './namespace-commands.ts'
import { publishCommands } from './publish-commands.ts'
import { ruleEngineCommands } from './rule-engine-commands.ts'
import { sourceCommands } from './source-commands.ts'
import { ruleCommands } from './rule-commands.ts'
import { schemaCommands } from './schema-commands.ts'
import { statusCommands } from './status-command.ts'
import { tokenCommands } from './token-command.ts'
import { topicSettingCommands } from './topic-setting-commands.ts'
import { traceCommands } from './trace-commands.ts'

export const ctlCommands: readonly CtlCommand[] = [
  ...statusCommands,
  ...brokerCommands,
  ...clientCommands,
  ...publishCommands,
  ...listenerCommands,
  ...diagnosticsCommands,
  ...bridgeCommands,
  ...alarmCommands,
  ...configurationCommands,
  ...dataCommands,
  ...credentialCommands,
  ...ruleCommands,
  ...ruleEngineCommands,
  ...sourceCommands,
  ...schemaCommands,
  ...gatewayCommands,
  ...gatewayUserCommands,
  ...delayedCommands,
  ...topicSettingCommands,
  ...traceCommands,
  ...accountCommands,
  ...auditCommands,
  ...namespaceCommands,
  ...tokenCommands,
  ...anyCommands,
]

/** Descriptions of the first words of commands that have two words. */
export const ctlGroups: Readonly<Record<string, string>> = {
  clients: 'clients that are connected or have a session',
  subscriptions: 'what clients subscribe to',
  topics: 'what is subscribed to',
  listeners: 'where clients come in',
  delayed: 'delayed messages',
  rewrite: 'topics of clients that are replaced',
  'auto-subscribe': 'subscriptions that the broker makes',
  sources: 'services that messages come from',
  'topic-metrics': 'counters of single topics',
  gateways: 'clients that speak something else than MQTT',
  user: 'passwords that clients show, by user name',
  clientid: 'passwords that clients show, by client id',
  scram: 'users who come in by SCRAM',
  psk: 'keys of clients for TLS without certificates',
  config: 'the configuration of the running broker, and what it was before',
  data: 'archives of all that the broker keeps',
  bridges: 'connections to other brokers',
  acl: 'stored access rules of clients',
  rules: 'rules in SQL over messages',
  schemas: 'schemas by which rules encode, decode and check data',
  connectors: 'services that actions of rules send to',
  actions: 'what rules send to services',
  ban: 'clients, users and addresses that are kept out',
  trace: 'what certain clients do, written to a file for a while',
  admins: 'accounts of the management API',
  'api-key': 'API keys: programs that may use the management API',
  namespaces: 'parts of the broker that know nothing of each other',
  retained: 'messages that the broker keeps for those who subscribe later',
  api: 'the operations of the management API, by their names',
}
