// A plot over time. Its colors are those of the page, read when it is drawn.

import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import { formatNumber } from '../state/format.ts'
import { language, theme } from '../state/preferences.ts'
import { useId } from './fields.tsx'

export interface Line {
  readonly title: string
  /** A custom property of the page: `--accent`. */
  readonly color: string
  readonly values: readonly (number | null)[]
}

interface PlotProps {
  readonly title: string
  /** Seconds since 1970, rising. */
  readonly times: readonly number[]
  readonly lines: readonly Line[]
}

const height = 220

export function Plot({ title, times, lines }: PlotProps): JSX.Element {
  const id = useId()
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(undefined)
  const data: uPlot.AlignedData = [[...times], ...lines.map(({ values }) => [...values])]
  const latest = useRef(data)
  latest.current = data
  const look = `${theme.value} ${language.value} ${lines.map((line) => line.title).join(' ')}`
  useEffect(() => {
    const element = place.current
    if (element === null) return undefined
    const draw = (): void => {
      plot.current = new uPlot(optionsOf(element, lines), latest.current, element)
      watch.observe(element)
    }
    const watch = new ResizeObserver(() => {
      const width = element.clientWidth
      if (plot.current !== undefined && plot.current.width !== width) plot.current.setSize({ width, height })
    })
    // The first drawing takes the browser long: each plot has a task of its own, after the page is shown.
    const timer = setTimeout(draw)
    return () => {
      clearTimeout(timer)
      watch.disconnect()
      plot.current?.destroy()
      plot.current = undefined
    }
  }, [look])
  // Values change with their times.
  useEffect(() => plot.current?.setData(data), [times])
  return (
    <figure class="plot">
      <figcaption>
        {title}
        {lines.map((line) => (
          <span key={line.title} class="legend">
            <span class="swatch" style={{ background: `var(${line.color})` }} /> {line.title}
          </span>
        ))}
      </figcaption>
      <div ref={place} role="img" aria-label={title} aria-describedby={id} />
      <p id={id} class="hidden">
        {lastValues(lines)}
      </p>
    </figure>
  )
}

/** Text alternative of the plot for screen readers. */
function lastValues(lines: readonly Line[]): string {
  return lines.map(({ title, values }) => `${title} ${formatNumber(values.at(-1) ?? 0, 1)}`).join(', ')
}

function optionsOf(element: HTMLElement, lines: readonly Line[]): uPlot.Options {
  const style = getComputedStyle(element)
  const colorOf = (name: string): string => resolveColor(element, style.getPropertyValue(name))
  const axis = { stroke: colorOf('--soft'), grid: { stroke: colorOf('--line'), width: 1 }, ticks: { show: false } }
  return {
    width: element.clientWidth,
    height,
    legend: { show: false },
    cursor: { show: false },
    axes: [axis, { ...axis, size: 60, values: (_plot, splits) => splits.map((value) => formatNumber(value, 1)) }],
    scales: { y: { range: (_plot, _least, most) => [0, Math.max(1, most * 1.1)] } },
    series: [{}, ...lines.map(({ color }) => ({ stroke: colorOf(color), width: 2, points: { show: false } }))],
  }
}

/** By theme: working them out makes the browser lay out the page again. */
const resolvedColors = new Map<string, string>()

/** A canvas does not support `light-dark()`, so the color is read from the computed style of an element. */
function resolveColor(element: HTMLElement, color: string): string {
  const key = `${theme.value} ${matchMedia('(prefers-color-scheme: dark)').matches} ${color}`
  const known = resolvedColors.get(key)
  if (known !== undefined) return known
  const probe = document.createElement('span')
  probe.style.color = color
  element.append(probe)
  const resolved = getComputedStyle(probe).color
  probe.remove()
  resolvedColors.set(key, resolved)
  return resolved
}
