// A new connector, action, source or listener of a gateway: its type, its name, and a field for each setting that such an entry
// has, made from the schema of the configuration; or all of it as JSON.

import type { ComponentChildren, JSX } from 'preact'
import { useState } from 'preact/hooks'
import { FormDialog } from '../parts/dialogs.tsx'
import { Select, TextField } from '../parts/fields.tsx'
import { JsonDialog } from '../parts/json-dialog.tsx'
import { FailureNotice } from '../parts/page.tsx'
import { api, type Failure, isAllowed, type Result, formatFailure } from '../state/api.ts'
import { escapeHiddenLetters } from '../state/format.ts'
import { t } from '../state/messages.ts'
import { useQuery } from '../state/query.ts'
import { showDone } from '../state/results.ts'
import { type Setting, SettingField } from './setting-field.tsx'
import { type SettingProblems, parseSettingProblems } from './setting-problems.ts'
import { createSettingsObject } from './setting-values.ts'

export type NewEntry = Readonly<Record<string, unknown>> & { readonly type: string; readonly name: string }

interface DialogProps {
  readonly title: string
  /** The section that the entries are in: `['connectors']`. */
  readonly section: readonly string[]
  /** Initial JSON if no field is filled in. */
  readonly example: NewEntry
  readonly onClose: () => void
  readonly onDone: () => void
  readonly onAdd: (entry: NewEntry) => Promise<Result<unknown>>
  /** Absent: there is no test. */
  readonly onTest?: (entry: NewEntry) => Promise<Result<unknown>>
  /** Names for the setting `connector`, by type. */
  readonly connectors?: (type: string) => readonly string[]
}

export function NewEntryDialog(props: DialogProps): JSX.Element {
  return isAllowed('get_configuration_schema') ? (
    <FormOrJson {...props} />
  ) : (
    <EntryJson {...props} entry={props.example} />
  )
}

function FormOrJson(props: DialogProps): JSX.Element {
  const { section, example } = props
  const [isJson, setJson] = useState(false)
  const [draft, setDraft] = useState<Draft>({ type: undefined, name: '', edited: new Map() })
  const key = section.join('.')
  const found = useQuery(`new ${key}`, (options) => api.get_configuration_schema({ query: { new: key } }, options))
  const settings = found.reply?.data
  if (isJson) {
    const entry = draft.name === '' && draft.edited.size === 0 ? example : createEntry(draft, section, settings ?? [])
    return (
      <EntryJson {...props} entry={entry}>
        <Switch word={t('asForm')} onClick={() => setJson(false)} />
      </EntryJson>
    )
  }
  return (
    <EntryForm
      {...props}
      settings={settings}
      failure={<FailureNotice failure={found.failure} onRetry={found.reload} />}
      draft={draft}
      onDraft={setDraft}
      onJson={() => setJson(true)}
    />
  )
}

type JsonProps = DialogProps & { readonly entry: NewEntry; readonly children?: ComponentChildren }

function EntryJson({ title, entry, onClose, onDone, onAdd, children }: JsonProps): JSX.Element {
  const save = (value: Readonly<Record<string, unknown>>): Promise<Result<unknown>> => onAdd(value as NewEntry)
  return (
    <JsonDialog title={title} act={title} value={entry} onClose={onClose} onDone={onDone} onSave={save}>
      {children}
    </JsonDialog>
  )
}

function Switch({ word, onClick }: { readonly word: string; readonly onClick: () => void }): JSX.Element {
  return (
    <p>
      <button type="button" onClick={onClick}>
        {word}
      </button>
    </p>
  )
}

/** Values of the fields. Values of another type are kept in case that type is selected again. */
interface Draft {
  /** undefined: the first one. */
  readonly type: string | undefined
  readonly name: string
  /** By the key below the entry. */
  readonly edited: ReadonlyMap<string, string>
}

/** The settings of one type have its name at this place of their paths, and the name of the entry behind it. */
const toPathInType = (setting: Setting, section: readonly string[]): readonly string[] =>
  setting.path.slice(section.length + 2)
const toKey = (setting: Setting, section: readonly string[]): string => toPathInType(setting, section).join('.')

function listTypes(settings: readonly Setting[], section: readonly string[]): readonly string[] {
  return [...new Set(settings.map(({ path }) => path[section.length] ?? ''))]
}

function filterByType({ type }: Draft, section: readonly string[], settings: readonly Setting[]): readonly Setting[] {
  const chosen = type ?? listTypes(settings, section)[0]
  return settings.filter(({ path }) => path[section.length] === chosen)
}

function createEntry(draft: Draft, section: readonly string[], settings: readonly Setting[]): NewEntry {
  const edited = filterByType(draft, section, settings).flatMap((setting) => {
    const text = draft.edited.get(toKey(setting, section))
    return text === undefined ? [] : [{ path: toPathInType(setting, section), text, setting }]
  })
  return {
    type: draft.type ?? listTypes(settings, section)[0] ?? '',
    name: draft.name,
    ...createSettingsObject(edited),
  }
}

interface FormProps extends DialogProps {
  readonly settings: readonly Setting[] | undefined
  readonly failure: ComponentChildren
  readonly draft: Draft
  readonly onDraft: (draft: Draft) => void
  readonly onJson: () => void
}

const noProblems: SettingProblems = { byKey: new Map(), rest: [] }

function EntryForm(props: FormProps): JSX.Element {
  const { title, section, settings = [], draft, onDraft, onClose, onDone, onAdd, onTest } = props
  const [problems, setProblems] = useState(noProblems)
  const entry = createEntry(draft, section, settings)
  const shown = filterByType(draft, section, settings)
  /** Returns what belongs to no field. */
  const assignProblems = (failure: Failure): string => {
    const keys = shown.map((setting) => toKey(setting, section))
    const found = parseSettingProblems(formatFailure(failure), keys, [...section, entry.type, entry.name])
    setProblems(found)
    return [...found.rest, ...(found.byKey.size > 0 ? [t('seeMarkedFields')] : [])].join('\n')
  }
  const add = async (): Promise<string | undefined> => {
    const result = await onAdd(entry)
    if ('failure' in result) return assignProblems(result.failure)
    showDone(`${title} ${entry.type}:${entry.name}`)
    onDone()
    return undefined
  }
  const test = async (): Promise<string | undefined> => {
    setProblems(noProblems)
    const result = await onTest?.(entry)
    return result !== undefined && 'failure' in result ? assignProblems(result.failure) : undefined
  }
  const types = listTypes(settings, section)
  return (
    <FormDialog title={title} onClose={onClose} onSave={add}>
      <Switch word={t('asJson')} onClick={props.onJson} />
      {props.failure}
      {props.settings === undefined && <p aria-busy="true">{t('loading')}</p>}
      <Select
        label={t('type')}
        value={entry.type}
        options={types.map((type) => [type, type])}
        onChange={(type) => {
          onDraft({ ...draft, type })
          setProblems(noProblems)
        }}
      />
      <TextField
        label={t('name')}
        value={draft.name}
        isRequired={true}
        onInput={(name) => onDraft({ ...draft, name })}
      />
      <Fields {...props} key={entry.type} shown={shown} type={entry.type} problems={problems.byKey} />
      {onTest !== undefined && <Trial key={`test ${entry.type}`} onTest={test} />}
    </FormDialog>
  )
}

/** Settings that every type has, and that few entries need. */
const rarelyNeeded = new Set([
  'tags',
  'description',
  'enable',
  'resource_opts',
  'ssl',
  'dtls_options',
  'authentication',
])

interface FieldsProps extends FormProps {
  readonly shown: readonly Setting[]
  readonly type: string
  readonly problems: ReadonlyMap<string, string>
}

/** Those that are required, the others of the type, and the rest behind `More settings`. */
function Fields({ shown, section, draft, onDraft, type, problems, connectors }: FieldsProps): JSX.Element {
  const [isOpen, setOpen] = useState(false)
  const edit = (setting: Setting, text: string): void => {
    const edited = new Map(draft.edited)
    if (text === setting.value) edited.delete(toKey(setting, section))
    else edited.set(toKey(setting, section), text)
    onDraft({ ...draft, edited })
  }
  const renderField = (setting: Setting): JSX.Element => {
    const key = toKey(setting, section)
    return (
      <SettingField
        key={setting.key}
        setting={setting}
        edited={draft.edited.get(key)}
        onEdit={edit}
        label={key}
        isNew={true}
        choices={key === 'connector' ? connectors?.(type) : undefined}
        problem={problems.get(key)}
      />
    )
  }
  const isRare = (setting: Setting): boolean => rarelyNeeded.has(toPathInType(setting, section)[0] ?? '')
  const rare = shown.filter((setting) => !setting.required && isRare(setting))
  const hasProblem = rare.some((setting) => problems.has(toKey(setting, section)))
  return (
    <>
      {shown.filter(({ required }) => required).map(renderField)}
      {shown.filter((setting) => !setting.required && !isRare(setting)).map(renderField)}
      {rare.length > 0 && (
        <details open={isOpen || hasProblem} onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary>{t('moreSettings')}</summary>
          {rare.map(renderField)}
        </details>
      )}
    </>
  )
}

/** Checks the service; nothing is stored. */
function Trial({ onTest }: { readonly onTest: () => Promise<string | undefined> }): JSX.Element {
  const [outcome, setOutcome] = useState<{ readonly problem: string | undefined }>()
  const [isBusy, setBusy] = useState(false)
  const run = async (): Promise<void> => {
    setBusy(true)
    setOutcome({ problem: await onTest() })
    setBusy(false)
  }
  return (
    <>
      <button type="button" disabled={isBusy} onClick={() => void run()}>
        {t('test')}
      </button>
      {outcome !== undefined && !isBusy && (
        <section
          aria-label={t('testResult')}
          role={outcome.problem === undefined ? 'status' : 'alert'}
          class={outcome.problem === undefined ? 'notice' : 'notice failed'}
        >
          {outcome.problem === undefined ? t('serviceAnswers') : escapeHiddenLetters(outcome.problem)}
        </section>
      )}
    </>
  )
}
