// Rules about access rules, plugins, modules, certificates and telegraf.

import type { ClusterSpecDraft } from '../resource/cluster-fields.ts'
import { normalizeFeatureName, type CertificateDraft, type TemplateDraft } from '../resource/open-ports.ts'
import { findTopicProblem } from '../acl/acl-lines.ts'
import { isAddressOrNetwork } from './addresses.ts'
import { defineRule, ensure, type ItemOf, type Rule, type Violation } from './rule.ts'

type AccessRule = ItemOf<TemplateDraft['acl']>

const accessRules: readonly Rule[] = [
  defineRule<AccessRule>({
    at: 'spec.emqxTemplate.acl[]',
    cel: undefined,
    message: 'this is not an address or a network',
    hint: 'write an address such as 192.0.2.10, or a network such as 10.0.0.0/8',
    check: ({ ipaddress = '' }) => ensure(ipaddress === '' || isAddressOrNetwork(ipaddress), ['ipaddress']),
  }),
  defineRule<AccessRule>({
    at: 'spec.emqxTemplate.acl[]',
    cel: undefined,
    message: 'the text has a control character, or stands for all clients',
    hint: 'write a user name or client ID; for all clients, remove the field',
    check: ({ username = '', clientid = '' }) => [
      ...ensure(isSubjectText(username), ['username']),
      ...ensure(isSubjectText(clientid), ['clientid']),
    ],
  }),
  defineRule<AccessRule>({
    at: 'spec.emqxTemplate.acl[]',
    cel: undefined,
    message: 'this is not a topic filter',
    hint: 'write a filter such as sensors/+/state',
    check: ({ topics }) => [
      ...findTopicViolations(topics?.filter, 'filter'),
      ...findTopicViolations(topics?.equal, 'equal'),
    ],
  }),
]

/** `$all` in a file of rules stands for all clients. */
function isSubjectText(text: string): boolean {
  return text !== '$all' && !/[\p{Cc}\p{Cs}]/u.test(text)
}

function findTopicViolations(
  topics: readonly (string | undefined)[] | undefined,
  list: 'filter' | 'equal',
): readonly Violation[] {
  return (topics ?? []).flatMap((topic, index) => {
    const problem = topic === undefined ? undefined : findTopicProblem(topic, list)
    return problem === undefined ? [] : [{ path: ['topics', list, index], message: problem }]
  })
}

const featureRules: readonly Rule[] = (['plugins', 'modules'] as const).map((list) =>
  defineRule<TemplateDraft>({
    at: 'spec.emqxTemplate',
    cel: undefined,
    message: 'this name is another one of the same feature',
    hint: 'name each feature once',
    check(template) {
      const names = new Map<string, string>()
      return (template[list] ?? []).flatMap((item, index) => {
        if (item?.name === undefined) return []
        const feature = normalizeFeatureName(item.name)
        const other = names.get(feature)
        names.set(feature, item.name)
        return ensure(other === undefined || other === item.name, [list, index, 'name'])
      })
    },
  }),
)

const certificateRules: readonly Rule[] = (['mqtts', 'wss'] as const).map((name) =>
  defineRule<CertificateDraft>({
    at: `spec.emqxTemplate.listener.certificate.${name}`,
    cel: '!has(self.secretName) || (!has(self.data) && !has(self.stringData))',
    message: 'secretName excludes data and stringData',
    hint: 'remove one of them',
    check: ({ secretName, data, stringData }) =>
      ensure(secretName === undefined || (data === undefined && stringData === undefined), ['secretName']),
  }),
)

const telegrafRules: readonly Rule[] = [
  defineRule<NonNullable<ClusterSpecDraft['telegrafTemplate']>>({
    at: 'spec.telegrafTemplate',
    cel: "(has(self.config) && self.config != '') || (has(self.conf) && self.conf != '')",
    message: 'telegraf has no configuration',
    hint: 'set config to its configuration file',
    check: ({ config = '' }) => ensure(config !== '', ['config']),
  }),
]

export const brokerRules: readonly Rule[] = [...accessRules, ...featureRules, ...certificateRules, ...telegrafRules]
