import type { JSX } from 'preact'
import { escapeHiddenLetters } from '../state/format.ts'
import { t } from '../state/messages.ts'
import { Checkbox } from './fields.tsx'

interface SwitchCellProps {
  readonly name: string
  readonly isOn: boolean
  readonly isDisabled: boolean
  readonly onChange: (isOn: boolean) => void
}

/** `Enabled <name>`, in a row. */
export function SwitchCell({ name, isOn, isDisabled, onChange }: SwitchCellProps): JSX.Element {
  return (
    <Checkbox
      label=""
      name={`${t('enabled')} ${escapeHiddenLetters(name)}`}
      role="switch"
      isChecked={isOn}
      isDisabled={isDisabled}
      onChange={onChange}
    />
  )
}
