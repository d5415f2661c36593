import type { JSX } from 'preact'
import { Select } from '../parts/fields.tsx'
import { api } from '../state/api.ts'
import { escapeHiddenLetters } from '../state/format.ts'
import { t } from '../state/messages.ts'
import { useQuery } from '../state/query.ts'
import { changeQuery, namespaceInRoute } from '../state/router.ts'

/** Selects `Global` or one of the broker's namespaces. */
export function NamespaceSelect(): JSX.Element {
  const { reply } = useQuery('namespaces', (options) => api.get_namespaces({}, options))
  const chosen = namespaceInRoute.value ?? ''
  const known = reply?.data.map(({ namespace }) => namespace) ?? []
  const all = chosen === '' || known.includes(chosen) ? known : [...known, chosen]
  return (
    <Select
      label={t('namespace')}
      value={chosen}
      options={[['', t('global')] as const, ...all.map((name) => [name, escapeHiddenLetters(name)] as const)]}
      onChange={(value) => changeQuery({ namespace: value, page: undefined, cursor: undefined })}
    />
  )
}
