// A field for each setting, made from its own definition. Changes gather until they are reviewed and applied together.

import type { JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { FormDialog } from '../parts/dialogs.tsx'
import { Search } from '../parts/fields.tsx'
import { FailureNotice } from '../parts/page.tsx'
import { api, isAllowed, formatFailure } from '../state/api.ts'
import { t } from '../state/messages.ts'
import { useQuery } from '../state/query.ts'
import { showDone } from '../state/results.ts'
import { readQueryValue } from '../state/router.ts'
import { ChangeList, type Outcome, OutcomeView } from './configuration-changes.tsx'
import { type Setting, SettingField } from './setting-field.tsx'
import { createSettingsObject } from './setting-values.ts'

/** Fields in the page at one time: the search finds the others. */
const maxShown = 60

export function ConfigurationSettings(): JSX.Element {
  const [edited, setEdited] = useState<ReadonlyMap<string, string>>(new Map())
  const [isReviewing, setReviewing] = useState(false)
  const [outcome, setOutcome] = useState<Outcome>()
  const found = useQuery('settings', (options) => api.get_configuration_schema({}, options))
  const settings = found.reply?.data
  const search = readQueryValue('search').toLowerCase()
  const matching = useMemo(
    () => settings?.filter((setting) => matchesSearch(setting, search)) ?? [],
    [settings, search],
  )
  const edit = ({ key, value }: Setting, text: string): void => {
    const next = new Map(edited)
    if (text === value) next.delete(key)
    else next.set(key, text)
    setEdited(next)
  }
  const changed = settings?.filter(({ key }) => edited.has(key)) ?? []
  const apply = async (): Promise<string | undefined> => {
    const data = createSettingsObject(
      changed.map((setting) => ({ path: setting.path, text: edited.get(setting.key) ?? '', setting })),
    )
    const result = await api.set_broker_configuration({ body: { data } })
    if ('failure' in result) return formatFailure(result.failure)
    setOutcome(result.reply.data)
    setEdited(new Map())
    showDone(t('applyChanges'))
    found.reload()
    return undefined
  }
  return (
    <>
      <div class="toolbar">
        <Search label={t('searchSettings')} />
        {isAllowed('set_broker_configuration') && (
          <button type="button" class="primary" disabled={edited.size === 0} onClick={() => setReviewing(true)}>
            {t('reviewChanges')}
          </button>
        )}
        <span role="status">
          {settings !== undefined && t('shownOf', { shown: Math.min(matching.length, maxShown), all: matching.length })}
        </span>
      </div>
      <FailureNotice failure={found.failure} onRetry={found.reload} />
      {outcome !== undefined && <OutcomeView outcome={outcome} />}
      <div class="settings">
        {matching.slice(0, maxShown).map((setting) => (
          <SettingField key={setting.key} setting={setting} edited={edited.get(setting.key)} onEdit={edit} />
        ))}
      </div>
      {settings !== undefined && matching.length === 0 && <p class="empty">{t('noSettings')}</p>}
      {isReviewing && (
        <FormDialog title={t('applyChanges')} saveWord={t('apply')} onClose={() => setReviewing(false)} onSave={apply}>
          <ChangeList changes={changed.map(({ key, value }) => ({ key, old: value, new: edited.get(key) }))} />
        </FormDialog>
      )}
    </>
  )
}

function matchesSearch({ key, description }: Setting, search: string): boolean {
  return search === '' || key.toLowerCase().includes(search) || description.toLowerCase().includes(search)
}
