// The settings of one connector, action, source or gateway: a field for each, made from the schema of the configuration, or all of
// them as JSON.

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { FormDialog } from '../parts/dialogs.tsx'
import { JsonDialog } from '../parts/json-dialog.tsx'
import { FailureNotice } from '../parts/page.tsx'
import { api, may, type Result, textOf } from '../state/api.ts'
import { t } from '../state/messages.ts'
import { useQuery } from '../state/query.ts'
import { tellDone } from '../state/results.ts'
import { type Setting, SettingField } from './setting-field.tsx'
import { settingProblems } from './setting-problems.ts'
import { settingsObject } from './setting-values.ts'

interface SectionDialogProps {
  readonly title: string
  /** What is done, for the status. */
  readonly act: string
  /** In the configuration: `['connectors', 'http', 'service']`. */
  readonly path: readonly string[]
  /** As JSON. */
  readonly value: unknown
  readonly onClose: () => void
  readonly onDone: () => void
  /** Of the JSON. */
  readonly onSave: (value: Readonly<Record<string, unknown>>) => Promise<Result<unknown>>
}

export function SectionDialog(props: SectionDialogProps): JSX.Element {
  const { title, act, path, value, onClose, onDone, onSave } = props
  const [isJson, setJson] = useState(!may('set_broker_configuration'))
  if (isJson) {
    return (
      <JsonDialog title={title} act={act} value={value} onClose={onClose} onDone={onDone} onSave={onSave}>
        {may('set_broker_configuration') && (
          <button type="button" onClick={() => setJson(false)}>
            {t('asForm')}
          </button>
        )}
      </JsonDialog>
    )
  }
  return (
    <SectionForm title={title} act={act} path={path} onClose={onClose} onDone={onDone} onJson={() => setJson(true)} />
  )
}

type FormProps = Omit<SectionDialogProps, 'value' | 'onSave'> & { readonly onJson: () => void }

function SectionForm({ title, act, path, onClose, onDone, onJson }: FormProps): JSX.Element {
  const [edited, setEdited] = useState<ReadonlyMap<string, string>>(new Map())
  const [problems, setProblems] = useState<ReadonlyMap<string, string>>(new Map())
  const found = useQuery('settings', (options) => api.get_configuration_schema({}, options))
  // Settings of other brokers that are accepted without effect are in the JSON.
  const settings = found.reply?.data.filter(
    (setting) => !setting.without_engine && path.every((name, at) => setting.path[at] === name),
  )
  const labelOf = (setting: Setting): string => setting.path.slice(path.length).join('.')
  const edit = ({ key, value }: Setting, text: string): void => {
    const next = new Map(edited)
    if (text === value) next.delete(key)
    else next.set(key, text)
    setEdited(next)
  }
  /** Returns what belongs to no field. */
  const tellProblems = (message: string): string => {
    const found = settingProblems(message, settings?.map(labelOf) ?? [], path)
    setProblems(found.byKey)
    return [...found.rest, ...(found.byKey.size > 0 ? [t('seeMarkedFields')] : [])].join('\n')
  }
  const save = async (): Promise<string | undefined> => {
    const changed = settings?.filter(({ key }) => edited.has(key)) ?? []
    // A secret that is not touched is not sent, and stays.
    const data = settingsObject(
      changed.map((setting) => ({ path: setting.path, text: edited.get(setting.key) ?? '', setting })),
    )
    if (changed.length > 0) {
      const result = await api.set_broker_configuration({ body: { data } })
      if ('failure' in result) return tellProblems(textOf(result.failure))
    }
    tellDone(act)
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
          label={labelOf(setting)}
          problem={problems.get(labelOf(setting))}
        />
      ))}
      {settings?.length === 0 && <p class="empty">{t('noSettings')}</p>}
    </FormDialog>
  )
}
