/** Stores the theme in this browser: light, dark, or the system's. */
import { useEffect, useState } from "react"

export type Theme = "system" | "light" | "dark"

const key = "atropos-theme"
const themes: ReadonlyArray<Theme> = ["system", "light", "dark"]

const stored = (): Theme => {
  try {
    return themes.find((theme) => theme === localStorage.getItem(key)) ?? "system"
  } catch {
    return "system"
  }
}

export const useTheme = (): readonly [Theme, (theme: Theme) => void] => {
  const [theme, setTheme] = useState(stored)
  useEffect(() => {
    if (theme === "system") delete document.documentElement.dataset["theme"]
    else document.documentElement.dataset["theme"] = theme
    try {
      localStorage.setItem(key, theme)
    } catch {
      // Without storage the choice lasts until the page is closed.
    }
  }, [theme])
  return [theme, setTheme]
}
