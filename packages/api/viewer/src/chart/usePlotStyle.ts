/** Provides the colours of charts, updated when the theme changes. */
import { useMemo, useSyncExternalStore } from "react"
import type { PlotStyle } from "./PlotStyle.ts"

const subscribe = (onChange: () => void): (() => void) => {
  const dark = window.matchMedia("(prefers-color-scheme: dark)")
  const observer = new MutationObserver(onChange)
  observer.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] })
  dark.addEventListener("change", onChange)
  return () => {
    observer.disconnect()
    dark.removeEventListener("change", onChange)
  }
}

/** `light-dark()` is only resolved on an element. */
const resolve = (names: ReadonlyArray<string>): string => {
  const probe = document.createElement("span")
  document.body.append(probe)
  const colors = names.map((name) => {
    probe.style.color = `var(--${name})`
    return getComputedStyle(probe).color
  })
  probe.remove()
  return colors.join("|")
}

/** Resolves colours of `styles/tokens.css` for a canvas by name; updated when the theme changes. */
const useColors = <const Name extends string>(...names: ReadonlyArray<Name>): { readonly [N in Name]: string } => {
  const colors = useSyncExternalStore(subscribe, () => resolve(names)).split("|")
  // One colour per name, in order.
  return Object.fromEntries(names.map((name, index) => [name, colors[index]])) as { readonly [N in Name]: string }
}

const series = ["series-1", "series-2", "series-3", "series-4", "series-5", "series-6", "series-7", "series-8"] as const

export const usePlotStyle = (): PlotStyle => {
  const colors = useColors(...series, "muted", "border", "surface", "danger", "negative")
  const text = JSON.stringify(colors)
  return useMemo(() => {
    const colors = JSON.parse(text) as { readonly [name: string]: string }
    return {
      series: series.map((name) => colors[name]!),
      text: colors["muted"]!,
      grid: colors["border"]!,
      surface: colors["surface"]!,
      broken: colors["danger"]!,
      suspect: colors["negative"]!
    }
  }, [text])
}
