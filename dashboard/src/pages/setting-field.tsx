// The field of one setting, made from its own definition.

import type { JSX } from 'preact'
import { useId } from '../parts/fields.tsx'
import { Name } from '../parts/values.tsx'
import { type api, isAllowed } from '../state/api.ts'
import { formatNumber, escapeHiddenLetters } from '../state/format.ts'
import { t } from '../state/messages.ts'

export type Setting = Extract<
  Awaited<ReturnType<typeof api.get_configuration_schema>>,
  { reply: unknown }
>['reply']['data'][number]

const maxLines = 6

interface FieldProps {
  readonly setting: Setting
  /** undefined: as it is. */
  readonly edited: string | undefined
  readonly onEdit: (setting: Setting, text: string) => void
  readonly label?: string
  /** Of something that does not exist yet: the field is empty, and its default is shown in it. */
  readonly isNew?: boolean
  /** Of an entry that is changed by its own request, and not in the configuration. */
  readonly isEntry?: boolean
  /** Possible values, if they come from the broker and not from the schema. */
  readonly choices?: readonly string[] | undefined
  /** Why the broker refuses the value. */
  readonly problem?: string | undefined
}

/** Labelled by the dotted key, or by `label`. */
export function SettingField(props: FieldProps): JSX.Element {
  const { setting, edited, label, isNew = false, isEntry = false, problem } = props
  const id = useId()
  const whyNot = isNew || isEntry ? undefined : findReadOnlyReason(setting)
  return (
    <div class={edited === undefined ? 'setting' : 'setting is-edited'}>
      <label for={id} class="mono">
        {label ?? setting.key}
      </label>
      <Control
        {...props}
        common={{
          id,
          disabled: whyNot !== undefined,
          required: isNew && setting.required,
          'aria-invalid': problem === undefined ? undefined : 'true',
          'aria-describedby': problem === undefined ? `${id}-about` : `${id}-problem ${id}-about`,
        }}
      />
      {problem !== undefined && (
        <small id={`${id}-problem`} class="problem">
          {escapeHiddenLetters(problem)}
        </small>
      )}
      <small id={`${id}-about`}>
        <Name text={`${setting.description} ${describeLimits(setting)}`} />
        {whyNot !== undefined && <strong> {whyNot}</strong>}
      </small>
    </div>
  )
}

interface Common {
  readonly id: string
  readonly disabled: boolean
  readonly required: boolean
  readonly 'aria-invalid': 'true' | undefined
  readonly 'aria-describedby': string
}

function Control({ setting, edited, onEdit, isNew = false, ...props }: FieldProps & { readonly common: Common }) {
  const { common } = props
  const { secret, lines, required } = setting
  const value = toReadableText(setting)
  const edit = (text: string): void => onEdit(setting, text === value ? setting.value : text)
  const values = setting.values?.includes(value) === true ? setting.values : undefined
  const choices = values ?? (props.choices === undefined ? undefined : ['', ...props.choices])
  if (choices !== undefined) {
    return (
      <select
        {...common}
        value={edited ?? (values === undefined ? '' : value)}
        onChange={(event) => edit(event.currentTarget.value)}
      >
        {choices.map((one) => (
          <option key={one} value={one}>
            {one}
          </option>
        ))}
      </select>
    )
  }
  // A secret is not shown: the field is empty, and stays so unless another one is typed.
  const isEmpty = secret || isNew
  const shown = {
    ...common,
    value: edited ?? (isEmpty ? '' : value),
    autocomplete: 'off',
    spellcheck: false,
    placeholder: isEmpty && !required ? value : undefined,
  }
  const handleInput = (typed: string): void => edit(isEmpty && typed === '' ? value : typed)
  if (lines && !secret) {
    const rows = Math.min(maxLines, shown.value.split('\n').length + 1)
    return <textarea {...shown} rows={rows} onInput={(event) => handleInput(event.currentTarget.value)} />
  }
  // The types of the library know no input whose kind is chosen at run time.
  const kind: Record<string, string> = { type: secret ? 'password' : 'text' }
  return <input {...shown} {...kind} onInput={(event) => handleInput(event.currentTarget.value)} />
}

/** A text of several lines stands in quotes in a file, and is shown without them. */
function toReadableText({ value, lines }: Setting): string {
  if (!lines || !value.startsWith('"')) return value
  try {
    return String(JSON.parse(value))
  } catch {
    return value
  }
}

/** Default, limits, when it takes hold and where it stands. */
function describeLimits({
  type,
  min,
  max,
  default: preset,
  takes_hold: takesHold,
  place,
  ...setting
}: Setting): string {
  const bounds = min === undefined || max === undefined ? '' : ` (${formatNumber(min)} – ${formatNumber(max)})`
  const parts = [
    `${type}${bounds}.`,
    setting.required ? t('isRequired') : t('defaultIs', { value: preset }),
    t(takesHold === 'at-once' ? 'takesAtOnce' : takesHold === 'at-restart' ? 'takesAtRestart' : 'takesOnConnect'),
    ...(place === undefined ? [] : [t('writtenAt', { place })]),
    ...(setting.without_engine ? [t('withoutEngine')] : []),
  ]
  return parts.join(' ')
}

function findReadOnlyReason({ source, local }: Setting): string | undefined {
  if (!isAllowed('set_broker_configuration')) return t('viewersChangeNothing')
  if (source === 'command-line') return t('pinnedByCommandLine')
  return local ? t('localSetting') : undefined
}
