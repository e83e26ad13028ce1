"""How the timeline looks: for its figure and for its pictures."""

ROW_PIXELS = 15  # height of a warp's lane

THEMES = {
    "light": {
        "paper": "#ffffff",
        "text": "#5d6774",
        "ink": "#1d232b",
        "grid": "#e6e9ed",
        "wait": "#9aa4b0",
        "lit": "#1f6feb",
        "arrow": "#8a94a1",
        "tasks": ("#a2477f", "#6a5acd", "#7a6a00", "#3c6e8f", "#8c3b3b", "#0072b2", "#b35900", "#007a5a"),
        "engine": "#8a94a1",
        "states": {"allocated": "#eceff3", "filling": "#9ec9e8", "full": "#0072b2", "reading": "#0b8a63"},
        "error": "#c02b1d",
        "found": "#b35900",
        "measured": "#eef4fb",
    },
    "dark": {
        "paper": "#171b20",
        "text": "#97a2af",
        "ink": "#dde3ea",
        "grid": "#262c34",
        "wait": "#5f6a77",
        "lit": "#8ab8ff",
        "arrow": "#6d7885",
        "tasks": ("#dd8fc2", "#a99cf5", "#d6c34a", "#8fbcd9", "#e08b8b", "#56b4e9", "#f0a04b", "#43c59e"),
        "engine": "#8fa0b3",
        "states": {"allocated": "#222932", "filling": "#2b4a60", "full": "#56b4e9", "reading": "#3fc499"},
        "error": "#ff7b6e",
        "found": "#f0a04b",
        "measured": "#1c2530",
    },
}
