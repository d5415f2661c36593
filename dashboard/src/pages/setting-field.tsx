// The field of one setting, made from its own definition.

import type { JSX } from 'preact'
import { useId } from '../parts/fields.tsx'
import { Name } from '../parts/values.tsx'
import { type api, may } from '../state/api.ts'
import { formatNumber } from '../state/format.ts'
import { t } from '../state/messages.ts'

export type Setting = Extract<
  Awaited<ReturnType<typeof api.get_configuration_schema>>,
  { reply: unknown }
>['reply']['data'][number]

/** What the API writes in place of a secret. */
const hiddenValue = '******'

interface FieldProps {
  readonly setting: Setting
  /** undefined: as it is. */
  readonly edited: string | undefined
  readonly onEdit: (setting: Setting, text: string) => void
  readonly label?: string
}

/** Labelled by the dotted key, or by `label`. */
export function SettingField({ setting, edited, onEdit, label }: FieldProps): JSX.Element {
  const id = useId()
  const { key, values, value, description } = setting
  const whyNot = reasonAgainst(setting)
  // A secret is not shown: the field is empty, and stays so unless another one is typed.
  const isHidden = setting.secret && value === hiddenValue
  const text = edited ?? (isHidden ? '' : value)
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
        {label ?? key}
      </label>
      {values === undefined || !values.includes(value) ? (
        <input
          {...common}
          {...kind}
          autocomplete="off"
          spellcheck={false}
          placeholder={isHidden ? hiddenValue : undefined}
          onInput={({ currentTarget: { value: typed } }) => onEdit(setting, isHidden && typed === '' ? value : typed)}
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
