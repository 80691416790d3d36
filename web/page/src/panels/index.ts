import type { Panel } from '../app';
import { numbers } from './numbers';

export const panels: Panel[] = [numbers];
