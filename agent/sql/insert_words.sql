INSERT INTO message_words (rowid, words) VALUES (:id, :words)
