-- A title that a person chose is kept.
UPDATE conversations SET title = $2, title_folded = $3 WHERE id = $1 AND NOT title_by_user
