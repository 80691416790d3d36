// The usual theme, with live skins in pages.

import DefaultTheme from "vitepress/theme";
import LiveSkin from "./LiveSkin.vue";
import "./style.css";

export default { extends: DefaultTheme, enhanceApp: ({ app }) => app.component("LiveSkin", LiveSkin) };
