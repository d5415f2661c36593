// Encodes and decodes the fields of a record, which is one line of a table.

import { InvalidArchive } from '../archives/index.ts'

export type Json = string | number | boolean | readonly Json[] | { readonly [key: string]: Json | undefined }

export interface Field<Value> {
  /** Returns undefined for a field that is omitted. */
  write(value: Value): Json | undefined
  /** Throws InvalidArchive, whose message is the end of a sentence that starts with the name of the field. */
  read(written: unknown): Value
}

export function text({
  minBytes = 0,
  maxBytes = 65_535,
}: { readonly minBytes?: number; readonly maxBytes?: number } = {}): Field<string> {
  return {
    write: (value) => value,
    read: (written) => {
      if (typeof written !== 'string') throw new InvalidArchive('is not a text')
      // A UTF-16 code unit has at most three bytes in UTF-8, so the length of most texts is sufficient.
      if (written.length * 3 > maxBytes && Buffer.byteLength(written) > maxBytes) {
        throw new InvalidArchive(`is longer than ${maxBytes} bytes`)
      }
      if (written.length < minBytes) throw new InvalidArchive('is empty')
      if (!written.isWellFormed()) throw new InvalidArchive('is not well-formed Unicode')
      return written
    },
  }
}

export function number({
  min,
  max,
  isWhole,
}: {
  readonly min: number
  readonly max: number
  readonly isWhole: boolean
}): Field<number> {
  return {
    write: (value) => value,
    read: (written) => {
      const isGood = typeof written === 'number' && written >= min && written <= max
      if (!isGood || (isWhole && !Number.isInteger(written))) {
        throw new InvalidArchive(`is not a ${isWhole ? 'whole ' : ''}number from ${min} to ${max}`)
      }
      return written
    },
  }
}

/** Milliseconds since 1970, which may have a fraction. */
export const timestamp: Field<number> = number({ min: 0, max: 8.64e15, isWhole: false })

export const boolean: Field<boolean> = {
  write: (value) => value,
  read: (written) => {
    if (typeof written !== 'boolean') throw new InvalidArchive('is not a boolean')
    return written
  },
}

/** Bytes, written as base64. */
export function bytes(maxBytes: number): Field<Buffer> {
  return {
    write: (value) => Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64'),
    read: (written) => {
      if (typeof written !== 'string') throw new InvalidArchive('is not valid base64')
      const read = Buffer.from(written, 'base64')
      // Node ignores characters that are not base64. The length and the end of the text show whether it did.
      const isWhole = Math.ceil(read.length / 3) * 4 === written.length
      if (!isWhole || !/^[A-Za-z0-9+/]*={0,2}$/.test(written.slice(-4))) throw new InvalidArchive('is not valid base64')
      if (read.length > maxBytes) throw new InvalidArchive(`is longer than ${maxBytes} bytes`)
      return read
    },
  }
}

export function oneOf<const Value extends string | number>(values: readonly Value[]): Field<Value> {
  return {
    write: (value) => value,
    read: (written) => {
      const found = values.find((value) => value === written)
      if (found === undefined) throw new InvalidArchive(`is invalid: it must be one of ${values.join(', ')}`)
      return found
    },
  }
}

/** A field that may be missing: undefined is omitted. */
export function optional<Value>(field: Field<Value>): Field<Value | undefined> {
  return {
    write: (value) => (value === undefined ? undefined : field.write(value)),
    read: (written) => (written === undefined || written === null ? undefined : field.read(written)),
  }
}

/** A text; an empty one is omitted. */
export function textOrNone(): Field<string> {
  const field = optional(text())
  return { write: (value) => (value === '' ? undefined : value), read: (written) => field.read(written) ?? '' }
}

/** Names and values in pairs. */
export function pairs(max: number): Field<readonly (readonly [string, string])[]> {
  const word = text()
  return {
    write: (value) => value,
    read: (written) => {
      if (!Array.isArray(written) || written.length > max)
        throw new InvalidArchive(`is not a list of at most ${max} pairs`)
      return written.map((pair: unknown): readonly [string, string] => {
        if (!Array.isArray(pair) || pair.length !== 2)
          throw new InvalidArchive('contains an element that is not a pair')
        return [word.read(pair[0]), word.read(pair[1])]
      })
    },
  }
}

export type Shape<Value> = { readonly [Name in keyof Value]-?: Field<Value[Name]> }

/** An object with exactly these fields. */
export function object<Value extends object>(shape: Shape<Value>): Field<Value> {
  const fields = Object.entries(shape) as [string, Field<unknown>][]
  const names = new Set(fields.map(([name]) => name))
  return {
    write: (value) => {
      const written: Record<string, Json | undefined> = {}
      for (const [name, field] of fields) written[name] = field.write((value as Record<string, unknown>)[name])
      return written
    },
    read: (written) => {
      if (typeof written !== 'object' || written === null || Array.isArray(written))
        throw new InvalidArchive('is not an object')
      for (const name in written) {
        if (!names.has(name)) throw new InvalidArchive(`has the unknown field ${JSON.stringify(name.slice(0, 60))}`)
      }
      const value: Record<string, unknown> = {}
      for (const [name, field] of fields) {
        const part = readField(name, field, (written as Record<string, unknown>)[name])
        if (part !== undefined) value[name] = part
      }
      return value as Value
    },
  }
}

function readField(name: string, field: Field<unknown>, written: unknown): unknown {
  try {
    return field.read(written)
  } catch (error) {
    if (!(error instanceof InvalidArchive)) throw error
    throw new InvalidArchive(`${name} ${written === undefined ? 'is missing' : error.message}`)
  }
}
