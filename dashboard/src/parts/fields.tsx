// Controls with their labels. A label is the accessible name.

import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { changeQuery, readQueryValue, route } from '../state/router.ts'

interface TextProps {
  readonly label: string
  readonly value: string
  readonly onInput: (value: string) => void
  readonly type?: 'text' | 'password' | 'number' | 'datetime-local'
  readonly isRequired?: boolean
  readonly autocomplete?: string
  readonly hint?: string
  readonly min?: number
  readonly list?: readonly string[]
  readonly isDisabled?: boolean
  readonly placeholder?: string
}

let lastId = 0

export function useId(): string {
  const id = useRef('')
  if (id.current === '') id.current = `f${(lastId += 1)}`
  return id.current
}

export function TextField(props: TextProps): JSX.Element {
  const { label, value, onInput, type = 'text', isRequired = false, autocomplete = 'off', hint, min, list } = props
  const id = useId()
  // The types of the library know no input whose kind is chosen at run time.
  const kind: Record<string, string> = { type, autocomplete }
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        {...kind}
        value={value}
        required={isRequired}
        spellcheck={false}
        min={min}
        disabled={props.isDisabled}
        placeholder={props.placeholder}
        list={list === undefined ? undefined : `${id}-list`}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      {hint !== undefined && <small id={`${id}-hint`}>{hint}</small>}
      {list !== undefined && (
        <datalist id={`${id}-list`}>
          {list.map((one) => (
            <option key={one} value={one} />
          ))}
        </datalist>
      )}
    </div>
  )
}

interface TextAreaProps {
  readonly label: string
  readonly value: string
  readonly onInput: (value: string) => void
  readonly rows?: number
  readonly isReadOnly?: boolean
}

export function TextArea({ label, value, onInput, rows = 6, isReadOnly = false }: TextAreaProps): JSX.Element {
  const id = useId()
  const element = useRef<HTMLTextAreaElement>(null)
  // A long text is shown from its beginning, also where it gets the focus of a dialog.
  useEffect(() => element.current?.setSelectionRange(0, 0), [])
  return (
    <div class="field wide">
      <label for={id}>{label}</label>
      <textarea
        id={id}
        ref={element}
        rows={rows}
        spellcheck={false}
        readOnly={isReadOnly}
        value={value}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
    </div>
  )
}

interface SelectProps<Value extends string> {
  readonly label: string
  readonly value: Value
  readonly options: readonly (readonly [value: Value, text: string])[]
  readonly onChange: (value: Value) => void
  readonly isDisabled?: boolean
}

export function Select<Value extends string>(props: SelectProps<Value>): JSX.Element {
  const { label, value, options, onChange, isDisabled = false } = props
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select
        id={id}
        value={value}
        disabled={isDisabled}
        onChange={(event) => onChange(event.currentTarget.value as Value)}
      >
        {options.map(([one, text]) => (
          <option key={one} value={one}>
            {text}
          </option>
        ))}
      </select>
    </div>
  )
}

/** Levels of QoS, for a `Select`. */
export const qosOptions = [
  ['0', '0'],
  ['1', '1'],
  ['2', '2'],
] as const

interface CheckboxProps {
  readonly label: string
  readonly isChecked: boolean
  readonly onChange: (isChecked: boolean) => void
  readonly role?: 'switch'
  readonly name?: string
  readonly isDisabled?: boolean
}

export function Checkbox({ label, isChecked, onChange, role, name, isDisabled }: CheckboxProps): JSX.Element {
  return (
    <label class="check">
      <input
        type="checkbox"
        role={role}
        checked={isChecked}
        disabled={isDisabled}
        aria-label={name}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />{' '}
      {label}
    </label>
  )
}

/** Time after the last key before a search request is sent. */
const debounceMs = 300

interface SearchProps {
  readonly label: string
  /** Key in the query of the route. */
  readonly name?: string
  readonly hint?: string
}

/** A search by the server: what is typed goes into the route when the hands rest. */
export function Search({ label, name = 'search', hint }: SearchProps): JSX.Element {
  const id = useId()
  const inRoute = readQueryValue(name)
  const [text, setText] = useState(inRoute)
  const typed = useRef(inRoute)
  useEffect(() => {
    // Back and forward, or a link that is followed.
    if (inRoute !== typed.current) setText(inRoute)
    typed.current = inRoute
  }, [inRoute])
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const handleInput = (value: string): void => {
    setText(value)
    clearTimeout(timer.current)
    const { path } = route.value
    timer.current = setTimeout(() => {
      if (route.value.path !== path && route.value.path.join('/') !== path.join('/')) return
      typed.current = value
      changeQuery({ [name]: value, page: undefined, cursor: undefined })
    }, debounceMs)
  }
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        type="search"
        value={text}
        spellcheck={false}
        autocomplete="off"
        placeholder={hint}
        onInput={(event) => handleInput(event.currentTarget.value)}
      />
    </div>
  )
}

/** Controls of a page in one row. */
export function Toolbar({ children }: { readonly children: ComponentChildren }): JSX.Element {
  return <div class="toolbar">{children}</div>
}

/** A choice that is kept in the route. */
export function RouteSelect<Value extends string>(
  props: Omit<SelectProps<Value>, 'value' | 'onChange'> & { readonly name: string },
): JSX.Element {
  const { name, options } = props
  const [preset = ['' as Value, '']] = options
  const value = (options.find(([one]) => one === readQueryValue(name)) ?? preset)[0]
  const change = (next: Value): void =>
    changeQuery({ [name]: next === preset[0] ? undefined : next, page: undefined, cursor: undefined })
  return <Select {...props} value={value} onChange={change} />
}

/** A switch that is kept in the route. */
export function RouteCheckbox({ label, name }: { readonly label: string; readonly name: string }): JSX.Element {
  return (
    <Checkbox
      label={label}
      isChecked={readQueryValue(name) === '1'}
      onChange={(isOn) => changeQuery({ [name]: isOn ? '1' : undefined, page: undefined, cursor: undefined })}
    />
  )
}
