// A field for each setting, made from its own definition. Changes gather until they are reviewed and applied together.

import type { JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { FormDialog } from '../parts/dialogs.tsx'
import { Search, useId } from '../parts/fields.tsx'
import { FailureNotice } from '../parts/page.tsx'
import { Name } from '../parts/values.tsx'
import { api, may, textOf } from '../state/api.ts'
import { formatNumber } from '../state/format.ts'
import { t } from '../state/messages.ts'
import { useQuery } from '../state/query.ts'
import { tellDone } from '../state/results.ts'
import { queryValue } from '../state/router.ts'
import { ChangeList, type Outcome, OutcomeView } from './configuration-changes.tsx'
import { settingsObject } from './setting-values.ts'

type Setting = Extract<
  Awaited<ReturnType<typeof api.get_configuration_schema>>,
  { reply: unknown }
>['reply']['data'][number]

/** Fields in the page at one time: the search finds the others. */
const maxShown = 60

export function ConfigurationSettings(): JSX.Element {
  const [edited, setEdited] = useState<ReadonlyMap<string, string>>(new Map())
  const [isReviewing, setReviewing] = useState(false)
  const [outcome, setOutcome] = useState<Outcome>()
  const found = useQuery('settings', (options) => api.get_configuration_schema({}, options))
  const settings = found.reply?.data
  const search = queryValue('search').toLowerCase()
  const matching = useMemo(() => settings?.filter((setting) => matches(setting, search)) ?? [], [settings, search])
  const edit = ({ key, value }: Setting, text: string): void => {
    const next = new Map(edited)
    if (text === value) next.delete(key)
    else next.set(key, text)
    setEdited(next)
  }
  const changed = settings?.filter(({ key }) => edited.has(key)) ?? []
  const apply = async (): Promise<string | undefined> => {
    const data = settingsObject(changed.map(({ key, path }) => ({ path, text: edited.get(key) ?? '' })))
    const result = await api.set_broker_configuration({ body: { data } })
    if ('failure' in result) return textOf(result.failure)
    setOutcome(result.reply.data)
    setEdited(new Map())
    tellDone(t('applyChanges'))
    found.reload()
    return undefined
  }
  return (
    <>
      <div class="toolbar">
        <Search label={t('searchSettings')} />
        {may('set_broker_configuration') && (
          <button type="button" class="primary" disabled={edited.size === 0} onClick={() => setReviewing(true)}>
            {t('reviewChanges')}
          </button>
        )}
        <span role="status">{t('shownOf', { shown: Math.min(matching.length, maxShown), all: matching.length })}</span>
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

function matches({ key, description }: Setting, search: string): boolean {
  return search === '' || key.toLowerCase().includes(search) || description.toLowerCase().includes(search)
}

interface FieldProps {
  readonly setting: Setting
  /** undefined: as it is. */
  readonly edited: string | undefined
  readonly onEdit: (setting: Setting, text: string) => void
}

function SettingField({ setting, edited, onEdit }: FieldProps): JSX.Element {
  const id = useId()
  const { key, values, value, description } = setting
  const whyNot = reasonAgainst(setting)
  const text = edited ?? value
  // The types of the library know no input whose kind is chosen at run time.
  const kind: Record<string, string> = { type: setting.secret ? 'password' : 'text' }
  const common = {
    id,
    value: text,
    disabled: whyNot !== undefined,
    'aria-describedby': `${id}-about`,
  }
  return (
    <div class={edited === undefined ? 'setting' : 'setting is-edited'}>
      <label for={id} class="mono">
        {key}
      </label>
      {values === undefined || !values.includes(value) ? (
        <input
          {...common}
          {...kind}
          autocomplete="off"
          spellcheck={false}
          onInput={(event) => onEdit(setting, event.currentTarget.value)}
        />
      ) : (
        <select {...common} onChange={(event) => onEdit(setting, event.currentTarget.value)}>
          {values.map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
      )}
      <small id={`${id}-about`}>
        <Name text={`${description} ${limitsOf(setting)}`} />
        {whyNot !== undefined && <strong> {whyNot}</strong>}
      </small>
    </div>
  )
}

/** Default, limits, when it takes hold and where it stands. */
function limitsOf({ type, min, max, default: preset, takes_hold: takesHold, place, ...setting }: Setting): string {
  const bounds = min === undefined || max === undefined ? '' : ` (${formatNumber(min)} – ${formatNumber(max)})`
  const parts = [
    `${type}${bounds}.`,
    t('defaultIs', { value: preset }),
    t(takesHold === 'at-once' ? 'takesAtOnce' : takesHold === 'at-restart' ? 'takesAtRestart' : 'takesOnConnect'),
    ...(place === undefined ? [] : [t('writtenAt', { place })]),
    ...(setting.without_engine ? [t('withoutEngine')] : []),
  ]
  return parts.join(' ')
}

function reasonAgainst({ source, local }: Setting): string | undefined {
  if (!may('set_broker_configuration')) return t('viewersChangeNothing')
  if (source === 'command-line') return t('pinnedByCommandLine')
  return local ? t('localSetting') : undefined
}
