// Names of namespaces, and patterns for them in user names.

import { createTypeProblem, toScalarText, showText, text, type SettingType } from './setting-type.ts'

/** The namespace is between `before` and `after`; an open side may have further text. */
export interface NamespacePattern {
  readonly before: string
  readonly after: string
  readonly isOpenBefore: boolean
  readonly isOpenAfter: boolean
}

export const namespaceName = text({
  maxBytes: 128,
  form: {
    pattern: /^[A-Za-z0-9][A-Za-z0-9._-]*$/,
    name: 'the name of a namespace such as plant-7: letters, digits, - _ and dots',
  },
})

const place = '${namespace}'
const name = 'a text with ${namespace} once, and * at its beginning or its end: "${namespace}/*", "*@${namespace}"'

/** At most one star, and text that ends the namespace, so that the result is unique. */
export const namespacePattern: SettingType<NamespacePattern> = {
  name,
  jsonSchema: { type: 'string' },
  read(value) {
    const found = toScalarText(value) ?? ''
    const [front = '', back, ...more] = found.split(place)
    if (back === undefined || more.length > 0 || Buffer.byteLength(found) > 1_024) return createTypeProblem(name, value)
    const isOpenBefore = front.startsWith('*')
    const isOpenAfter = back.endsWith('*')
    const before = isOpenBefore ? front.slice(1) : front
    const after = isOpenAfter ? back.slice(0, -1) : back
    const isWithoutEnd = (isOpenBefore && before === '') || (isOpenAfter && after === '')
    if (isWithoutEnd || (isOpenBefore && isOpenAfter) || /[*\p{Cc}]/u.test(before + after))
      return createTypeProblem(name, value)
    return { value: { before, after, isOpenBefore, isOpenAfter } }
  },
  show: ({ before, after, isOpenBefore, isOpenAfter }) =>
    showText(`${isOpenBefore ? '*' : ''}${before}${place}${after}${isOpenAfter ? '*' : ''}`),
}
