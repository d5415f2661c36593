// Rules about `metadata`.

import { maxNameCharacters } from '../resource/cluster-names.ts'
import { matchesForm } from '../resource/read-fields.ts'
import { dnsLabel, dnsName } from '../resource/text-forms.ts'
import { defineRule, ensure, type Rule } from './rule.ts'

interface Named {
  readonly metadata?: { readonly name?: string | undefined; readonly namespace?: string | undefined } | undefined
}

const namespaceRule = defineRule<Named>({
  at: '',
  cel: undefined,
  message: 'this is not a name of a namespace',
  hint: `write ${dnsLabel.name}, of at most 63 characters`,
  check: ({ metadata }) => {
    const namespace = metadata?.namespace
    return ensure(
      namespace === undefined || (namespace.length <= 63 && namespace !== '' && matchesForm(dnsLabel, namespace)),
      ['metadata', 'namespace'],
    )
  },
})

export const clusterNameRules: readonly Rule[] = [
  defineRule<Named>({
    at: '',
    cel: `self.metadata.name.size() <= ${maxNameCharacters} && !self.metadata.name.contains('.')`,
    message: 'the name is no DNS label, or is too long for the pods of a StatefulSet',
    hint: `use at most ${maxNameCharacters} lower-case letters, digits and -, beginning and ending with a letter or digit`,
    check: ({ metadata }) => {
      const name = metadata?.name
      return ensure(
        name === undefined || (name.length <= maxNameCharacters && name !== '' && matchesForm(dnsLabel, name)),
        ['metadata', 'name'],
      )
    },
  }),
  namespaceRule,
]

export const otherNameRules: readonly Rule[] = [
  defineRule<Named>({
    at: '',
    cel: undefined,
    message: 'the name is no DNS name',
    hint: `write ${dnsName.name}, of at most 253 characters`,
    check: ({ metadata }) => {
      const name = metadata?.name
      return ensure(name === undefined || (name.length <= 253 && name !== '' && matchesForm(dnsName, name)), [
        'metadata',
        'name',
      ])
    },
  }),
  namespaceRule,
]
