import { useInfiniteQuery } from '@tanstack/react-query';
import { Search, UsersRound } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../../components/button.tsx';
import { Empty, Skeleton } from '../../components/parts.tsx';
import { ProblemNote } from '../../components/problem.tsx';
import { useUser } from '../../queries.ts';
import { later } from '../../text/later.ts';
import { text } from '../../text/text.ts';
import { Page } from '../page.tsx';
import { toNameKey } from '../uploads/names.ts';
import { type Question, QuestionDialog } from './question.tsx';
import { UserTable } from './user-table.tsx';
import { usersQuery } from './users-query.ts';
import './users.css';

/** Everybody with an account, for the owner of the service. */
export function Users() {
  const { users } = later;
  if (useUser().role === 'owner') return <Accounts />;
  return (
    <Page title={text.nav.people}>
      <Empty icon={UsersRound} title={users.forOwner} hint={users.forOwnerHint} />
    </Page>
  );
}

function Accounts() {
  const query = useInfiniteQuery(usersQuery);
  const [words, setWords] = useState('');
  const [question, setQuestion] = useState<Question>();
  const { users } = later;
  const read = query.data?.pages.flatMap((page) => page.users) ?? [];
  const wanted = toNameKey(words.trim());
  const found = read.filter(({ name, email }) => toNameKey(`${name}\n${email}`).includes(wanted));
  return (
    <Page
      title={text.nav.people}
      lead={users.lead}
      actions={
        <label className="input m soft search-field">
          <Search className="i s" aria-hidden="true" />
          <span className="sr">{users.find}</span>
          <input
            type="search"
            value={words}
            placeholder={users.find}
            onChange={({ target }) => setWords(target.value)}
          />
        </label>
      }
    >
      <ProblemNote error={query.error} action={<Button onClick={() => query.refetch()}>{text.common.retry}</Button>} />
      {query.isPending && <Skeleton />}
      {found.length > 0 && <UserTable users={found} onAsk={setQuestion} />}
      {query.isSuccess && found.length === 0 && <Empty icon={UsersRound} title={users.none} hint={users.noneHint} />}
      {query.isSuccess && (
        <footer className="line wrap">
          <span className="grow quiet num" role="status">
            {users.count(found.length)}
          </span>
          {query.hasNextPage && (
            <Button busy={query.isFetchingNextPage} onClick={() => query.fetchNextPage()}>
              {users.more}
            </Button>
          )}
        </footer>
      )}
      {question && <QuestionDialog {...question} onClose={() => setQuestion(undefined)} />}
    </Page>
  );
}
