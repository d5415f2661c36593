// The settings of one connector, action, source or gateway: a field for each, made from the schema of the configuration, or all of
// them as JSON. Administrators of the broker change the configuration; those of a namespace the entry itself.

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { FormDialog } from '../parts/dialogs.tsx'
import { JsonDialog } from '../parts/json-dialog.tsx'
import { FailureNotice } from '../parts/page.tsx'
import { api, isAllowed, type Result, formatFailure } from '../state/api.ts'
import { t } from '../state/messages.ts'
import { type Query, useQuery } from '../state/query.ts'
import { showDone } from '../state/results.ts'
import { namespaceInRoute } from '../state/router.ts'
import { type Setting, SettingField } from './setting-field.tsx'
import { parseSettingProblems } from './setting-problems.ts'
import { type EditedSetting, createSettingsObject, formatSettingValue, findValue } from './setting-values.ts'

type Settings = Readonly<Record<string, unknown>>

interface SectionDialogProps {
  readonly title: string
  /** Name of the action, for the status line. */
  readonly act: string
  /** In the configuration: `['connectors', 'http', 'service']`. */
  readonly path: readonly string[]
  /** As JSON. */
  readonly value: Settings
  readonly onClose: () => void
  readonly onDone: () => void
  /** Of the JSON. */
  readonly onSave: (value: Settings) => Promise<Result<unknown>>
}

export function SectionDialog(props: SectionDialogProps): JSX.Element {
  const { title, act, value, onClose, onDone, onSave } = props
  const isOfBroker = isAllowed('set_broker_configuration') && namespaceInRoute.value === undefined
  const hasForm = isOfBroker || isAllowed('get_configuration_schema')
  const [isJson, setJson] = useState(!hasForm)
  if (isJson) {
    return (
      <JsonDialog title={title} act={act} value={value} onClose={onClose} onDone={onDone} onSave={onSave}>
        {hasForm && (
          <button type="button" onClick={() => setJson(false)}>
            {t('asForm')}
          </button>
        )}
      </JsonDialog>
    )
  }
  const Form = isOfBroker ? ConfigurationForm : EntryForm
  return <Form {...props} onJson={() => setJson(true)} />
}

type FormProps = SectionDialogProps & { readonly onJson: () => void }

function ConfigurationForm(props: FormProps): JSX.Element {
  const { path } = props
  const found = useQuery('settings', (options) => api.get_configuration_schema({}, options))
  // Settings of other brokers that are accepted without effect are in the JSON.
  const settings = found.reply?.data.filter(
    (setting) => !setting.without_engine && path.every((name, at) => setting.path[at] === name),
  )
  const save = (edited: readonly EditedSetting[]): Promise<Result<unknown>> => {
    const data = createSettingsObject(edited.map((one) => ({ ...one, path: [...path, ...one.path] })))
    return api.set_broker_configuration({ body: { data } })
  }
  return <SectionForm {...props} found={found} settings={settings} onChange={save} />
}

/** The schema is that of a new entry of this type, and the values are those of the entry. */
function EntryForm(props: FormProps): JSX.Element {
  const { path, value, onSave } = props
  const [section = '', type] = path
  const found = useQuery(`new ${section}`, (options) =>
    api.get_configuration_schema({ query: { new: section } }, options),
  )
  const settings = found.reply?.data
    .filter((setting) => !setting.without_engine && setting.path[1] === type)
    .map((setting) => {
      const known = findValue(value, setting.path.slice(path.length))
      return known === undefined ? setting : { ...setting, value: formatSettingValue(known, setting) }
    })
  const save = (edited: readonly EditedSetting[]): Promise<Result<unknown>> =>
    onSave(createSettingsObject(edited, value))
  return <SectionForm {...props} found={found} settings={settings} onChange={save} isEntry={true} />
}

interface SectionFormProps extends FormProps {
  readonly found: Query<unknown>
  readonly settings: readonly Setting[] | undefined
  /** Paths are those below the section. */
  readonly onChange: (edited: readonly EditedSetting[]) => Promise<Result<unknown>>
  readonly isEntry?: boolean
}

function SectionForm(props: SectionFormProps): JSX.Element {
  const { title, act, path, found, settings, onClose, onDone, onJson, onChange, isEntry = false } = props
  const [edited, setEdited] = useState<ReadonlyMap<string, string>>(new Map())
  const [problems, setProblems] = useState<ReadonlyMap<string, string>>(new Map())
  const toPathInSection = (setting: Setting): readonly string[] => setting.path.slice(path.length)
  const toLabel = (setting: Setting): string => toPathInSection(setting).join('.')
  const edit = ({ key, value }: Setting, text: string): void => {
    const next = new Map(edited)
    if (text === value) next.delete(key)
    else next.set(key, text)
    setEdited(next)
  }
  /** Returns what belongs to no field. */
  const showProblems = (message: string): string => {
    const placed = parseSettingProblems(message, settings?.map(toLabel) ?? [], path)
    setProblems(placed.byKey)
    return [...placed.rest, ...(placed.byKey.size > 0 ? [t('seeMarkedFields')] : [])].join('\n')
  }
  const save = async (): Promise<string | undefined> => {
    // A secret that is not touched is not sent, and stays.
    const changed = (settings ?? []).flatMap((setting) => {
      const text = edited.get(setting.key)
      return text === undefined ? [] : [{ path: toPathInSection(setting), text, setting }]
    })
    if (changed.length > 0) {
      const result = await onChange(changed)
      if ('failure' in result) return showProblems(formatFailure(result.failure))
    }
    showDone(act)
    onDone()
    return undefined
  }
  return (
    <FormDialog title={title} onClose={onClose} onSave={save}>
      <p>
        <button type="button" onClick={onJson}>
          {t('asJson')}
        </button>
      </p>
      <FailureNotice failure={found.failure} onRetry={found.reload} />
      {settings === undefined && <p aria-busy="true">{t('loading')}</p>}
      {settings?.map((setting) => (
        <SettingField
          key={setting.key}
          setting={setting}
          edited={edited.get(setting.key)}
          onEdit={edit}
          label={toLabel(setting)}
          isEntry={isEntry}
          problem={problems.get(toLabel(setting))}
        />
      ))}
      {settings?.length === 0 && <p class="empty">{t('noSettings')}</p>}
    </FormDialog>
  )
}
