import { z } from 'zod';
import { CurrentSession, SignedIn, SignedOut, SignInRequest, SignUpRequest } from './accounts.ts';
import {
  ApiKey,
  ApiKeyList,
  ApiKeyParams,
  CreateApiKeyRequest,
  CreatedApiKey,
  ListApiKeysQuery,
  RotateApiKeyRequest,
  type Scope,
} from './api-keys.ts';
import { ContentQuery, DownloadUrl, DownloadUrlRequest, FileParams } from './downloads.ts';
import type { ErrorCode } from './errors.ts';
import {
  AcceptedInvitation,
  AcceptInvitationRequest,
  ChangeMemberRequest,
  CreatedInvitation,
  CreateInvitationRequest,
  InvitationList,
  InvitationParams,
  Member,
  MemberList,
  MemberParams,
  RemovedInvitation,
  RemovedMember,
} from './members.ts';
import { ErrorParams, Live, Ready, Welcome } from './operation.ts';
import {
  CreateProjectRequest,
  DeletedProject,
  DeleteProjectQuery,
  Project,
  ProjectList,
  ProjectParams,
  UpdateProjectRequest,
} from './projects.ts';
import {
  CreateFolderRequest,
  File,
  Folder,
  FolderParams,
  Listing,
  ListQuery,
  PresignRequest,
  PresignResponse,
  RecordRequest,
  Usage,
  UsageQuery,
} from './storage.ts';
import {
  AbortedUpload,
  CompleteUploadRequest,
  CreatedUpload,
  CreateUploadRequest,
  maxCompletionBytes,
  SignedParts,
  SignPartsRequest,
  Upload,
  UploadParams,
} from './uploads.ts';

/** Who may ask: anybody, a signed-in user, or an API key as well as a signed-in user. */
export type Access = 'anybody' | 'session' | 'keyOrSession';

/** One route of the HTTP API: what goes in, what comes out, what can go wrong. */
export interface Route {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Path with `{parameters}` as OpenAPI writes them. */
  path: string;
  summary: string;
  tag: 'Storage' | 'Uploads' | 'Folders' | 'Downloads' | 'Projects' | 'Members' | 'API keys' | 'Accounts' | 'Operation';
  access: Access;
  /** The scope that an API key needs here. */
  scope?: Scope;
  params?: z.ZodObject;
  query?: z.ZodObject;
  body?: z.ZodType;
  /** How large the body may be; 64 KiB unless it says otherwise. */
  maxBodyBytes?: number;
  /** Request headers that mean something on this route, with a sentence each. */
  headers?: Record<string, string>;
  /** The body of the 200 answer; nothing where the route redirects. */
  answer: z.ZodType;
  /** Media type of the 200 answer; JSON unless it says otherwise. */
  answerType?: 'text/html';
  /** Success is a 302 without a body, to the address in `Location`, which this sentence describes. */
  redirectsTo?: string;
  /** The codes that this route answers beyond those that every route of its access can answer. */
  errors: readonly ErrorCode[];
}

/** Every route of the API by the name of its operation. */
export const routes = {
  signUp: {
    method: 'POST',
    path: '/api/auth/sign-up/email',
    summary: 'Make an account and sign in; the first account becomes the owner',
    tag: 'Accounts',
    access: 'anybody',
    body: SignUpRequest,
    headers: {
      'X-Setup-Token':
        'The token from the start-up message, for the first account of a service that listens beyond loopback.',
      'X-Invitation':
        'The token of an invitation to this e-mail address: the account is made also where sign-up is closed.',
    },
    answer: SignedIn,
    errors: [
      'cross_site_request',
      'sign_up_closed',
      'invitation_not_found',
      'setup_token_required',
      'account_exists',
      'too_many_sign_ins',
    ],
  },
  signIn: {
    method: 'POST',
    path: '/api/auth/sign-in/email',
    summary: 'Sign in; the answer sets the session cookie',
    tag: 'Accounts',
    access: 'anybody',
    body: SignInRequest,
    answer: SignedIn,
    errors: ['cross_site_request', 'invalid_email_or_password', 'too_many_sign_ins'],
  },
  signOut: {
    method: 'POST',
    path: '/api/auth/sign-out',
    summary: 'End the session of the cookie',
    tag: 'Accounts',
    access: 'anybody',
    answer: SignedOut,
    errors: ['cross_site_request'],
  },
  getSession: {
    method: 'GET',
    path: '/api/auth/get-session',
    summary: 'The signed-in user, or null',
    tag: 'Accounts',
    access: 'anybody',
    answer: CurrentSession,
    errors: [],
  },
  createProject: {
    method: 'POST',
    path: '/api/projects',
    summary: 'Make a project',
    tag: 'Projects',
    access: 'session',
    body: CreateProjectRequest,
    answer: Project,
    errors: [],
  },
  listProjects: {
    method: 'GET',
    path: '/api/projects',
    summary: 'The projects that you are a member of',
    tag: 'Projects',
    access: 'session',
    answer: ProjectList,
    errors: [],
  },
  getProject: {
    method: 'GET',
    path: '/api/projects/{projectId}',
    summary: 'One project',
    tag: 'Projects',
    access: 'session',
    params: ProjectParams,
    answer: Project,
    errors: ['project_not_found'],
  },
  updateProject: {
    method: 'PATCH',
    path: '/api/projects/{projectId}',
    summary: 'Rename a project, or change what it takes: quota, size and types of files',
    tag: 'Projects',
    access: 'session',
    params: ProjectParams,
    body: UpdateProjectRequest,
    answer: Project,
    errors: ['role_missing', 'project_not_found'],
  },
  deleteProject: {
    method: 'DELETE',
    path: '/api/projects/{projectId}',
    summary: 'Delete a project; with files in it only with force',
    tag: 'Projects',
    access: 'session',
    params: ProjectParams,
    query: DeleteProjectQuery,
    answer: DeletedProject,
    errors: ['role_missing', 'project_not_found', 'project_not_empty'],
  },
  listMembers: {
    method: 'GET',
    path: '/api/projects/{projectId}/members',
    summary: 'The members of a project with their roles',
    tag: 'Members',
    access: 'session',
    params: ProjectParams,
    answer: MemberList,
    errors: ['project_not_found'],
  },
  changeMember: {
    method: 'PATCH',
    path: '/api/projects/{projectId}/members/{userId}',
    summary: 'Give a member another role; the last owner stays',
    tag: 'Members',
    access: 'session',
    params: MemberParams,
    body: ChangeMemberRequest,
    answer: Member,
    errors: ['project_not_found', 'role_missing', 'member_not_found', 'last_owner'],
  },
  removeMember: {
    method: 'DELETE',
    path: '/api/projects/{projectId}/members/{userId}',
    summary: 'Take a member out of a project, or leave it; the last owner stays',
    tag: 'Members',
    access: 'session',
    params: MemberParams,
    answer: RemovedMember,
    errors: ['project_not_found', 'role_missing', 'member_not_found', 'last_owner'],
  },
  createInvitation: {
    method: 'POST',
    path: '/api/projects/{projectId}/invitations',
    summary: 'Invite somebody; the address to accept it is in this answer and in no other',
    tag: 'Members',
    access: 'session',
    params: ProjectParams,
    body: CreateInvitationRequest,
    answer: CreatedInvitation,
    errors: ['project_not_found', 'role_missing'],
  },
  listInvitations: {
    method: 'GET',
    path: '/api/projects/{projectId}/invitations',
    summary: 'The invitations that can still be accepted',
    tag: 'Members',
    access: 'session',
    params: ProjectParams,
    answer: InvitationList,
    errors: ['project_not_found', 'role_missing'],
  },
  removeInvitation: {
    method: 'DELETE',
    path: '/api/projects/{projectId}/invitations/{id}',
    summary: 'Withdraw an invitation',
    tag: 'Members',
    access: 'session',
    params: InvitationParams,
    answer: RemovedInvitation,
    errors: ['project_not_found', 'role_missing', 'invitation_not_found'],
  },
  acceptInvitation: {
    method: 'POST',
    path: '/api/invitations/accept',
    summary: 'Become a member by an invitation to your e-mail address',
    tag: 'Members',
    access: 'session',
    body: AcceptInvitationRequest,
    answer: AcceptedInvitation,
    errors: ['invitation_not_found'],
  },
  createApiKey: {
    method: 'POST',
    path: '/api/api-keys',
    summary: 'Make an API key; its raw secret is in this answer and in no other',
    tag: 'API keys',
    access: 'session',
    body: CreateApiKeyRequest,
    answer: CreatedApiKey,
    errors: ['role_missing', 'project_not_found'],
  },
  listApiKeys: {
    method: 'GET',
    path: '/api/api-keys',
    summary: 'The API keys that you can manage, with their hashes',
    tag: 'API keys',
    access: 'session',
    query: ListApiKeysQuery,
    answer: ApiKeyList,
    errors: ['role_missing', 'project_not_found'],
  },
  revokeApiKey: {
    method: 'DELETE',
    path: '/api/api-keys/{id}',
    summary: 'Revoke an API key; doing so twice is the same',
    tag: 'API keys',
    access: 'session',
    params: ApiKeyParams,
    answer: ApiKey,
    errors: ['api_key_not_found'],
  },
  rotateApiKey: {
    method: 'POST',
    path: '/api/api-keys/{id}/rotate',
    summary: 'A new key in place of this one, which lives on for the overlap',
    tag: 'API keys',
    access: 'session',
    params: ApiKeyParams,
    body: RotateApiKeyRequest,
    answer: CreatedApiKey,
    errors: ['api_key_not_found', 'api_key_dead'],
  },
  presign: {
    method: 'POST',
    path: '/api/storage/presign',
    summary: 'A presigned address to PUT one file to',
    tag: 'Storage',
    access: 'keyOrSession',
    scope: 'files:write',
    body: PresignRequest,
    answer: PresignResponse,
    errors: ['project_not_found', 'folder_not_found', 'file_too_large', 'mime_type_not_allowed', 'quota_exceeded'],
  },
  record: {
    method: 'POST',
    path: '/api/storage/record',
    summary: 'Register an uploaded file; safe to repeat',
    tag: 'Storage',
    access: 'keyOrSession',
    scope: 'files:write',
    body: RecordRequest,
    answer: File,
    errors: [
      'invalid_store_key',
      'project_not_found',
      'folder_not_found',
      'upload_missing',
      'upload_size_mismatch',
      'already_recorded',
      'file_too_large',
      'mime_type_not_allowed',
      'quota_exceeded',
      'store_unavailable',
    ],
  },
  list: {
    method: 'GET',
    path: '/api/storage/list',
    summary: 'Files, folders and breadcrumbs: the whole project streamed, one folder, or pages',
    tag: 'Storage',
    access: 'keyOrSession',
    scope: 'files:read',
    query: ListQuery,
    answer: Listing,
    errors: ['project_not_found', 'folder_not_found'],
  },
  usage: {
    method: 'GET',
    path: '/api/storage/usage',
    summary: 'How many files and bytes a project, or one folder with everything below it, stores',
    tag: 'Storage',
    access: 'keyOrSession',
    scope: 'files:read',
    query: UsageQuery,
    answer: Usage,
    errors: ['project_not_found', 'folder_not_found'],
  },
  createUpload: {
    method: 'POST',
    path: '/api/storage/uploads',
    summary: 'Begin to upload one file in parts',
    tag: 'Uploads',
    access: 'keyOrSession',
    scope: 'files:write',
    body: CreateUploadRequest,
    answer: CreatedUpload,
    errors: [
      'project_not_found',
      'folder_not_found',
      'file_too_large',
      'mime_type_not_allowed',
      'quota_exceeded',
      'store_unavailable',
    ],
  },
  signParts: {
    method: 'POST',
    path: '/api/storage/uploads/{uploadId}/parts',
    summary: 'Presigned addresses to PUT parts to',
    tag: 'Uploads',
    access: 'keyOrSession',
    scope: 'files:write',
    params: UploadParams,
    body: SignPartsRequest,
    answer: SignedParts,
    errors: ['upload_not_found', 'upload_completed'],
  },
  getUpload: {
    method: 'GET',
    path: '/api/storage/uploads/{uploadId}',
    summary: 'One upload, with the parts that have arrived',
    tag: 'Uploads',
    access: 'keyOrSession',
    scope: 'files:write',
    params: UploadParams,
    answer: Upload,
    errors: ['upload_not_found', 'store_unavailable'],
  },
  completeUpload: {
    method: 'POST',
    path: '/api/storage/uploads/{uploadId}/complete',
    summary: 'Join the parts and register the file; safe to repeat',
    tag: 'Uploads',
    access: 'keyOrSession',
    scope: 'files:write',
    params: UploadParams,
    body: CompleteUploadRequest,
    maxBodyBytes: maxCompletionBytes,
    answer: File,
    errors: [
      'upload_not_found',
      'folder_not_found',
      'project_not_found',
      'upload_incomplete',
      'upload_completed',
      'upload_size_mismatch',
      'file_too_large',
      'mime_type_not_allowed',
      'quota_exceeded',
      'store_unavailable',
    ],
  },
  abortUpload: {
    method: 'DELETE',
    path: '/api/storage/uploads/{uploadId}',
    summary: 'Give an upload up; doing so twice is the same',
    tag: 'Uploads',
    access: 'keyOrSession',
    scope: 'files:write',
    params: UploadParams,
    answer: AbortedUpload,
    errors: ['upload_not_found', 'upload_completed', 'store_unavailable'],
  },
  createFolder: {
    method: 'POST',
    path: '/api/storage/folders',
    summary: 'Make a folder',
    tag: 'Folders',
    access: 'keyOrSession',
    scope: 'files:write',
    body: CreateFolderRequest,
    answer: Folder,
    errors: ['project_not_found', 'folder_not_found', 'folder_exists'],
  },
  getFolder: {
    method: 'GET',
    path: '/api/storage/folders/{id}',
    summary: 'One folder',
    tag: 'Folders',
    access: 'keyOrSession',
    scope: 'files:read',
    params: FolderParams,
    answer: Folder,
    errors: ['folder_not_found'],
  },
  createDownloadUrl: {
    method: 'POST',
    path: '/api/storage/files/{id}/url',
    summary: 'An address at the object store that serves the file to whoever has it',
    tag: 'Downloads',
    access: 'keyOrSession',
    scope: 'files:read',
    params: FileParams,
    body: DownloadUrlRequest,
    answer: DownloadUrl,
    errors: ['file_not_found'],
  },
  redirectToContent: {
    method: 'GET',
    path: '/api/storage/files/{id}/content',
    summary: 'Leads to the bytes of the file, for a plain link',
    tag: 'Downloads',
    access: 'keyOrSession',
    scope: 'files:read',
    params: FileParams,
    query: ContentQuery,
    redirectsTo: 'The file at the object store, for 15 minutes.',
    answer: z.undefined(),
    errors: ['file_not_found'],
  },
  live: {
    method: 'GET',
    path: '/livez',
    summary: 'Whether the process answers at all',
    tag: 'Operation',
    access: 'anybody',
    answer: Live,
    errors: [],
  },
  ready: {
    method: 'GET',
    path: '/readyz',
    summary: 'Whether each dependency answers',
    tag: 'Operation',
    access: 'anybody',
    answer: Ready,
    errors: ['not_ready'],
  },
  openapi: {
    method: 'GET',
    path: '/openapi.json',
    summary: 'This document',
    tag: 'Operation',
    access: 'anybody',
    answer: z.record(z.string(), z.unknown()),
    errors: [],
  },
  errorPage: {
    method: 'GET',
    path: '/errors/{code}',
    summary: 'What an error means and how to mend it',
    tag: 'Operation',
    access: 'anybody',
    params: ErrorParams,
    answer: z.string(),
    answerType: 'text/html',
    errors: ['not_found'],
  },
  welcome: {
    method: 'GET',
    path: '/',
    summary: 'The name and version of the service',
    tag: 'Operation',
    access: 'anybody',
    answer: Welcome,
    errors: [],
  },
} as const satisfies Record<string, Route>;

export type OperationId = keyof typeof routes;

/** Every code that a route can answer: its own, and those that follow from its access and its inputs. */
export function errorsOf(route: Route): ErrorCode[] {
  const codes = new Set<ErrorCode>(route.errors);
  if (route.access !== 'anybody' && route.method !== 'GET') codes.add('cross_site_request');
  if (route.access === 'session') codes.add('session_required');
  if (route.access === 'keyOrSession') {
    codes.add('invalid_api_key').add('project_not_allowed').add('scope_missing');
    if (route.scope !== 'files:read') codes.add('role_missing');
  }
  if (route.body || route.query || route.params) codes.add('invalid_request');
  if (route.body) codes.add('body_too_large').add('unsupported_media_type');
  codes.add('database_unavailable').add('internal_error');
  return [...codes];
}
