import type { JSX } from 'preact'
import { createQrCode } from '../state/qr-code.ts'

/** Light modules that a reader needs around the code. */
const margin = 4

/** A text for a camera: dark on light in each theme. Nothing where the text is too long for it. */
export default function QrPicture({
  text,
  title,
}: {
  readonly text: string
  readonly title: string
}): JSX.Element | null {
  const rows = createQrCode(text)
  if (rows === undefined) return null
  const size = rows.length + 2 * margin
  const squares = rows.flatMap((row, y) =>
    row.flatMap((isDark, x) => (isDark ? [`M${x + margin} ${y + margin}h1v1h-1z`] : [])),
  )
  return (
    <svg class="qr" role="img" aria-label={title} viewBox={`0 0 ${size} ${size}`} shape-rendering="crispEdges">
      <rect width={size} height={size} fill="#fff" />
      <path d={squares.join('')} fill="#000" />
    </svg>
  )
}
