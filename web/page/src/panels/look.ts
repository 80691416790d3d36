import type { Panel } from '../app';

export const look: Panel = { id: 'look', title: 'Numbers', mount() {} };
